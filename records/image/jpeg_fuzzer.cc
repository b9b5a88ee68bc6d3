// Any bytes behind the magic of JPEG: pixels or a status, the same from every decoder.
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
