#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "records/image/big_endian.h"
#include "records/image/exif.h"
#include "records/image/headers.h"

namespace penstock {
namespace {

// Markers of ITU-T T.81, table B.1. Each follows a byte 0xff.
constexpr uint8_t kTem = 0x01, kSof0 = 0xc0, kDht = 0xc4, kJpg = 0xc8, kDac = 0xcc, kSof15 = 0xcf;
constexpr uint8_t kRst0 = 0xd0, kRst7 = 0xd7, kSoi = 0xd8, kEoi = 0xd9, kSos = 0xda, kApp1 = 0xe1;
constexpr std::array<uint8_t, 6> kExifName = {'E', 'x', 'i', 'f', 0, 0};
constexpr size_t kBlockBytes = 64 * sizeof(int16_t);  // Bytes of the coefficients of 8x8 samples.

bool IsFrame(uint8_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

// Returns why frames with this marker cannot be decoded. Empty if they can.
absl::string_view UnsupportedProcess(uint8_t marker) {
  switch (marker) {
    case 0xc0:
    case 0xc1:
    case 0xc2:
      return "";
    case 0xc3:
      return "lossless";
    case 0xc5:
    case 0xc6:
    case 0xc7:
      return "hierarchical";
    case 0xc9:
    case 0xca:
      return "arithmetic-coded";
    case 0xcb:
      return "lossless arithmetic-coded";
    default:
      return "hierarchical arithmetic-coded";
  }
}

absl::Status UnsupportedJpeg(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, " JPEG is not supported: encode it as 8-bit baseline or progressive JPEG, or as PNG"));
}

absl::Status JpegCut() {
  return absl::DataLossError("JPEG: the file is cut before its first scan: store it again");
}

absl::Status JpegDamaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("JPEG: ", what));
}

// A frame header (SOFn): precision 1 byte, height 2, width 2, components 1; then for each component
// id 1, sampling factors 1, quantization table 1.
struct Frame {
  static constexpr size_t kFixedBytes = 6, kComponentBytes = 3;

  std::span<const uint8_t> bytes;

  int precision() const { return bytes[0]; }
  uint32_t height() const { return LoadBig16(&bytes[1]); }
  uint32_t width() const { return LoadBig16(&bytes[3]); }
  int components() const { return bytes[5]; }
  uint32_t horizontal(int i) const { return Sampling(i) >> 4; }
  uint32_t vertical(int i) const { return Sampling(i) & 15; }

 private:
  uint32_t Sampling(int i) const {
    return bytes[kFixedBytes + static_cast<size_t>(i) * kComponentBytes + 1];
  }
};

absl::Status CheckFrame(uint8_t marker, const Frame& frame) {
  if (frame.bytes.size() < Frame::kFixedBytes) return JpegDamaged("the frame header is too short");
  if (absl::string_view process = UnsupportedProcess(marker); !process.empty()) {
    return UnsupportedJpeg(process);
  }
  if (frame.precision() != 8) return UnsupportedJpeg(absl::StrCat(frame.precision(), "-bit"));
  const int components = frame.components();
  if (components != 1 && components != 3 && components != 4) {
    return UnsupportedJpeg(absl::StrCat(components, "-component"));
  }
  if (frame.bytes.size() != Frame::kFixedBytes + Frame::kComponentBytes * components) {
    return JpegDamaged("the frame header has a wrong length");
  }
  if (frame.width() == 0 || frame.height() == 0) {
    return JpegDamaged(absl::StrCat("the frame is empty: ", frame.width(), "x", frame.height()));
  }
  for (int i = 0; i < components; ++i) {
    if (frame.horizontal(i) < 1 || frame.horizontal(i) > 4 || frame.vertical(i) < 1 ||
        frame.vertical(i) > 4) {
      return JpegDamaged(absl::StrCat("sampling factors of component ", i, " are not 1 to 4"));
    }
  }
  return absl::OkStatus();
}

// Returns the memory that libjpeg-turbo allocates: whole interleaved units of each component.
uint64_t CoefficientBytes(const Frame& frame) {
  uint32_t max_horizontal = 1, max_vertical = 1;
  for (int i = 0; i < frame.components(); ++i) {
    max_horizontal = std::max(max_horizontal, frame.horizontal(i));
    max_vertical = std::max(max_vertical, frame.vertical(i));
  }
  uint64_t blocks = 0;
  for (int i = 0; i < frame.components(); ++i) {
    const uint64_t horizontal = frame.horizontal(i), vertical = frame.vertical(i);
    const uint64_t wide = DivideUp(frame.width() * horizontal, max_horizontal * 8);
    const uint64_t high = DivideUp(frame.height() * vertical, max_vertical * 8);
    blocks += RoundUp(wide, horizontal) * RoundUp(high, vertical);
  }
  return blocks * kBlockBytes;
}

class HeaderReader {
 public:
  explicit HeaderReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  absl::StatusOr<ImageInfo> Read() {
    while (true) {
      const std::optional<uint8_t> marker = NextMarker();
      if (!marker.has_value()) return JpegCut();
      if (*marker == kTem || (*marker >= kRst0 && *marker <= kRst7)) continue;
      if (*marker == kSoi) return JpegDamaged("a second image begins before the first scan");
      if (*marker == kEoi) return JpegDamaged("the file ends without a scan: it holds no image");
      const std::optional<std::span<const uint8_t>> segment = NextSegment();
      if (!segment.has_value()) return JpegCut();
      if (*marker == kSos) return Finish(*segment);
      if (absl::Status status = Take(*marker, *segment); !status.ok()) return status;
    }
  }

 private:
  // Skips everything before the next marker, as libjpeg does.
  std::optional<uint8_t> NextMarker() {
    while (true) {
      while (at_ < bytes_.size() && bytes_[at_] != 0xff) ++at_;
      while (at_ < bytes_.size() && bytes_[at_] == 0xff) ++at_;
      if (at_ >= bytes_.size()) return std::nullopt;
      const uint8_t marker = bytes_[at_++];
      if (marker != 0) return marker;
    }
  }

  // Returns the parameters after a marker, without their length.
  std::optional<std::span<const uint8_t>> NextSegment() {
    if (bytes_.size() - at_ < 2) return std::nullopt;
    const size_t length = std::max<size_t>(LoadBig16(&bytes_[at_]), 2);
    if (bytes_.size() - at_ < length) return std::nullopt;
    const std::span<const uint8_t> segment = bytes_.subspan(at_ + 2, length - 2);
    at_ += length;
    return segment;
  }

  absl::Status Take(uint8_t marker, std::span<const uint8_t> segment) {
    if (marker == kApp1) TakeExif(segment);
    if (!IsFrame(marker)) return absl::OkStatus();
    if (!frame_.bytes.empty()) return JpegDamaged("there are two frame headers");
    frame_.bytes = segment;
    progressive_ = marker == 0xc2;
    return CheckFrame(marker, frame_);
  }

  void TakeExif(std::span<const uint8_t> segment) {
    if (has_exif_ || segment.size() < kExifName.size() ||
        !std::equal(kExifName.begin(), kExifName.end(), segment.begin())) {
      return;
    }
    has_exif_ = true;
    orientation_ = ExifOrientation(segment.subspan(kExifName.size()));
  }

  absl::StatusOr<ImageInfo> Finish(std::span<const uint8_t> scan) const {
    if (frame_.bytes.empty()) return JpegDamaged("a scan comes before the frame header");
    if (scan.empty()) return JpegDamaged("the scan header is too short");
    ImageInfo info;
    info.format = ImageFormat::kJpeg;
    info.width = frame_.width();
    info.height = frame_.height();
    info.components = frame_.components();
    info.progressive = progressive_;
    info.orientation = orientation_;
    const bool several_scans = progressive_ || scan[0] < frame_.components();
    if (several_scans) info.coefficient_bytes = CoefficientBytes(frame_);
    return info;
  }

  const std::span<const uint8_t> bytes_;
  size_t at_ = 2;  // The first marker follows SOI.
  Frame frame_;
  bool progressive_ = false;
  bool has_exif_ = false;
  int orientation_ = 1;
};

}  // namespace

bool LooksLikeJpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == kSoi && bytes[2] == 0xff;
}

absl::StatusOr<ImageInfo> ReadJpegHeader(std::span<const uint8_t> bytes) {
  return HeaderReader(bytes).Read();
}

}  // namespace penstock
