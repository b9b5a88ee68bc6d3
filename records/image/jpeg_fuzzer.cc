// Decodes any bytes after the magic number of JPEG. Every decoder must give the same pixels or
// status.
#include <algorithm>
#include <vector>

#include "records/image/testing/fuzz_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> bytes = {0xff, 0xd8, 0xff};
  bytes.insert(bytes.end(), data + 1, data + size);
  penstock::FuzzImage(bytes, data[0]);
  return 0;
}
