#include "records/image/exif.h"

#include <cstddef>

#include "records/image/big_endian.h"

namespace penstock {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShort = 3, kLong = 4;  // Number types of TIFF.
constexpr size_t kEntryBytes = 12;         // Tag 2, type 2, count 4, value 4.

// Reads numbers of a TIFF block in the block's byte order. Reads zeros beyond the end of the block.
class TiffBlock {
 public:
  explicit TiffBlock(std::span<const uint8_t> bytes)
      : bytes_(bytes), little_(bytes.size() > 1 && bytes[0] == 'I') {}

  bool HasHeader() const {
    return bytes_.size() >= 8 && bytes_[0] == bytes_[1] && (little_ || bytes_[0] == 'M') &&
           Read16(2) == 42;
  }
  uint32_t Read16(uint64_t at) const {
    if (at + 2 > bytes_.size()) return 0;
    const uint8_t* p = bytes_.data() + at;
    return little_ ? uint32_t{p[1]} << 8 | p[0] : LoadBig16(p);
  }
  uint32_t Read32(uint64_t at) const {
    return little_ ? Read16(at) | Read16(at + 2) << 16 : Read16(at) << 16 | Read16(at + 2);
  }

 private:
  const std::span<const uint8_t> bytes_;
  const bool little_;
};

}  // namespace

int ExifOrientation(std::span<const uint8_t> tiff) {
  const TiffBlock block(tiff);
  if (!block.HasHeader()) return 1;
  const uint64_t directory = block.Read32(4);
  const uint32_t entries = block.Read16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) break;
    if (block.Read16(entry) != kOrientationTag) continue;
    const uint32_t type = block.Read16(entry + 2);
    const uint32_t value = type == kShort  ? block.Read16(entry + 8)
                           : type == kLong ? block.Read32(entry + 8)
                                           : 0;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace penstock
