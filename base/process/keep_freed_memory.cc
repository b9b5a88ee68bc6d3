#include "base/process/keep_freed_memory.h"

#include <cstdlib>  // Defines __GLIBC__.

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace penstock {

void KeepFreedMemory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

}  // namespace penstock
