// Defines arc4random() for libstdc++, whose archive in Debian 12 asks for it. glibc has it since
// 2.36.
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof(value)) != 0) abort();
  return value;
}
