// Decodes any bytes after the magic number of PNG. Every decoder must give the same pixels or
// status. The checksums of the chunks are corrected, so that more than the first chunk is read.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "records/image/big_endian.h"
#include "records/image/testing/fuzz_image.h"

namespace {

void StoreBig32(uint32_t value, uint8_t* p) {
  for (int shift = 24; shift >= 0; shift -= 8) *p++ = static_cast<uint8_t>(value >> shift);
}

// `chunks` is a sequence of: length 4 bytes, type 4, data, CRC 4.
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
