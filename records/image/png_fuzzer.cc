// Any bytes behind the magic of PNG: pixels or a status, the same from every decoder. The checksums
// of its chunks are made right, so that more than the first is read.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "records/image/big_endian.h"
#include "records/image/testing/fuzz_image.h"

namespace {

void StoreBig32(uint32_t value, uint8_t* p) {
  for (int shift = 24; shift >= 0; shift -= 8) *p++ = static_cast<uint8_t>(value >> shift);
}

// `chunks`: length 4, type 4, data, CRC 4, again and again.
void MakeChecksumsRight(std::span<uint8_t> chunks) {
  while (chunks.size() >= 12) {
    const size_t length = penstock::LoadBig32(chunks.data());
    if (length > chunks.size() - 12) return;
    const uLong crc = crc32(0, &chunks[4], static_cast<uInt>(length + 4));
    StoreBig32(static_cast<uint32_t>(crc), &chunks[length + 8]);
    chunks = chunks.subspan(length + 12);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> bytes = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  bytes.insert(bytes.end(), data + 1, data + size);
  if ((data[0] & 32) == 0) MakeChecksumsRight(std::span(bytes).subspan(8));
  penstock::FuzzImage(bytes, data[0]);
  return 0;
}
