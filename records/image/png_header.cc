#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "records/image/big_endian.h"
#include "records/image/exif.h"
#include "records/image/headers.h"

namespace penstock {
namespace {

constexpr std::array<uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr uint32_t kIhdr = 0x49484452, kExif = 0x65584966, kIend = 0x49454e44;
constexpr size_t kChunkOverhead = 12;  // Length 4, type 4, CRC 4.
constexpr size_t kIhdrBytes = 13;
constexpr uint8_t kPalette = 3;

absl::Status PngDamaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("PNG: ", what));
}

// Returns the samples per pixel for a colour type (W3C PNG, 11.2.1), or 0 if the type does not
// exist.
int Components(uint8_t color_type) {
  constexpr std::array<int, 7> kComponents = {1, 0, 3, 1, 2, 0, 4};
  return color_type < kComponents.size() ? kComponents[color_type] : 0;
}

bool IsBitDepth(uint8_t color_type, uint8_t depth) {
  const bool small = depth == 1 || depth == 2 || depth == 4;
  if (color_type == kPalette) return small || depth == 8;
  return depth == 8 || depth == 16 || (small && color_type == 0);
}

absl::StatusOr<ImageInfo> ReadIhdr(const uint8_t* ihdr) {
  const uint8_t depth = ihdr[8], color_type = ihdr[9];
  ImageInfo info;
  info.format = ImageFormat::kPng;
  info.width = LoadBig32(ihdr);
  info.height = LoadBig32(ihdr + 4);
  info.components = Components(color_type);
  info.bit_depth = depth;
  info.palette = color_type == kPalette;
  info.progressive = ihdr[12] == 1;
  if (info.width == 0 || info.height == 0 || info.width > 0x7fffffff || info.height > 0x7fffffff) {
    return PngDamaged(absl::StrCat("the header says ", info.width, "x", info.height, " pixels"));
  }
  if (info.components == 0 || !IsBitDepth(color_type, depth)) {
    return PngDamaged(absl::StrCat("there is no colour type ", color_type, " of ", depth, " bits"));
  }
  return info;
}

// Returns the orientation in the first eXIf chunk before IEND, or 1 if there is none.
int FindOrientation(std::span<const uint8_t> chunks) {
  while (chunks.size() >= kChunkOverhead) {
    const size_t length = LoadBig32(&chunks[0]);
    const uint32_t type = LoadBig32(&chunks[4]);
    if (type == kIend || chunks.size() - kChunkOverhead < length) break;
    if (type == kExif) return ExifOrientation(chunks.subspan(8, length));
    chunks = chunks.subspan(kChunkOverhead + length);
  }
  return 1;
}

}  // namespace

bool LooksLikePng(std::span<const uint8_t> bytes) {
  return bytes.size() >= kSignature.size() &&
         std::equal(kSignature.begin(), kSignature.end(), bytes.begin());
}

bool IsGrey16Png(std::span<const uint8_t> bytes) {
  constexpr size_t kDepth = 24, kColorType = 25;  // In IHDR, the first chunk.
  return LooksLikePng(bytes) && bytes.size() > kColorType && bytes[kDepth] == 16 &&
         bytes[kColorType] == 0;
}

absl::StatusOr<ImageInfo> ReadPngHeader(std::span<const uint8_t> bytes) {
  bytes = bytes.subspan(kSignature.size());
  if (bytes.size() < kChunkOverhead + kIhdrBytes) {
    return PngDamaged("the file is cut inside its header: store it again");
  }
  if (LoadBig32(&bytes[0]) != kIhdrBytes || LoadBig32(&bytes[4]) != kIhdr) {
    return PngDamaged("the file does not begin with an IHDR chunk of 13 bytes");
  }
  absl::StatusOr<ImageInfo> info = ReadIhdr(&bytes[8]);
  if (info.ok()) info->orientation = FindOrientation(bytes.subspan(kChunkOverhead + kIhdrBytes));
  return info;
}

}  // namespace penstock
