#include "records/image/image_info.h"

#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "records/image/testing/expectations.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<ImageInfo> Probe(absl::string_view text) { return ProbeImage(BytesOf(text)); }

ImageInfo ProbeFile(const std::string& name) {
  const absl::StatusOr<ImageInfo> info = ProbeImage(Expectations::Get().file(name));
  EXPECT_OK(info) << name;
  return info.value_or(ImageInfo{});
}

TEST(ProbeImageTest, TellsSizeAndOrientationOfEveryFile) {
  for (const auto& [name, expected] : Expectations::Get()["decoded"].items()) {
    const ImageInfo info = ProbeFile(name);
    EXPECT_EQ(info.width, expected["width"]) << name;
    EXPECT_EQ(info.height, expected["height"]) << name;
    EXPECT_EQ(info.orientation, expected["orientation"]) << name;
  }
}

TEST(ProbeImageTest, TellsFormatAndKind) {
  const ImageInfo color = ProbeFile("jpeg_420"), grey = ProbeFile("jpeg_grey_progressive");
  EXPECT_EQ(color.format, ImageFormat::kJpeg);
  EXPECT_EQ(color.components, 3);
  EXPECT_FALSE(color.progressive);
  EXPECT_EQ(grey.components, 1);
  EXPECT_TRUE(grey.progressive);
  EXPECT_EQ(ProbeFile("jpeg_cmyk").components, 4);
  const ImageInfo palette = ProbeFile("png_3_4_interlaced");
  EXPECT_EQ(palette.format, ImageFormat::kPng);
  EXPECT_EQ(palette.bit_depth, 4);
  EXPECT_TRUE(palette.palette);
  EXPECT_TRUE(palette.progressive);
}

TEST(ProbeImageTest, KnowsCoefficientsOfFilesWithSeveralScans) {
  EXPECT_EQ(ProbeFile("jpeg_420").coefficient_bytes, 0);
  // 37x29 pixels are 3 x 2 units of 16x16. A unit has 4 + 1 + 1 blocks of 128 bytes.
  EXPECT_EQ(ProbeFile("jpeg_420_progressive").coefficient_bytes, 6 * 6 * 128);
  EXPECT_GT(ProbeFile("jpeg_non_interleaved").coefficient_bytes, 0);
  // 31x23 pixels are 4 x 3 blocks.
  EXPECT_EQ(ProbeFile("jpeg_grey_progressive").coefficient_bytes, 12 * 128);
}

TEST(ProbeImageTest, NamesFormatsThatAreNotSupported) {
  const std::pair<absl::string_view, absl::string_view> kFormats[] = {
      {"GIF89a", "GIF"},
      {"BM\x36\x10", "BMP"},
      {absl::string_view("II*\0\x08", 5), "TIFF"},
      {absl::string_view("MM\0*", 4), "TIFF"},
      {"RIFF1234WEBPVP8 ", "WebP"},
      {absl::string_view("\0\0\0\x18"
                         "ftypheic",
                         12),
       "HEIC"},
      {absl::string_view("\0\0\0\x18"
                         "ftypmif1",
                         12),
       "HEIC"},
      {absl::string_view("\0\0\0\x18"
                         "ftypavif",
                         12),
       "AVIF"},
      {"<!doctype HTML>", "an HTML page"},
  };
  for (const auto& [bytes, name] : kFormats) {
    EXPECT_THAT(Probe(bytes), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr(std::string(name)), HasSubstr("convert"))));
  }
}

TEST(ProbeImageTest, RefusesBytesThatAreNoImage) {
  EXPECT_THAT(Probe(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no bytes")));
  EXPECT_THAT(Probe("hello"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no image")));
  EXPECT_THAT(Probe("\xff\xd8"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 bytes")));
}

std::string WithFrame(uint8_t marker, uint8_t precision) {
  const std::span<const uint8_t> file = Expectations::Get().file("jpeg_420");
  std::string bytes(file.begin(), file.end());
  const size_t at = bytes.find("\xff\xc0");
  bytes[at + 1] = static_cast<char>(marker);
  bytes[at + 4] = static_cast<char>(precision);
  return bytes;
}

TEST(ProbeImageTest, NamesProcessesOfJpegThatAreNotSupported) {
  const auto refuses = [](absl::string_view what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(what)));
  };
  EXPECT_THAT(Probe(WithFrame(0xc3, 8)), refuses("lossless"));
  EXPECT_THAT(Probe(WithFrame(0xc5, 8)), refuses("hierarchical"));
  EXPECT_THAT(Probe(WithFrame(0xc1, 12)), refuses("12-bit"));
  EXPECT_THAT(Probe(WithFrame(0xc1, 16)), refuses("16-bit"));
  EXPECT_THAT(ProbeImage(Expectations::Get().refused().at("arithmetic")), refuses("arithmetic"));
}

TEST(ProbeImageTest, ReportsHeadersThatAreCut) {
  const auto cut = [](absl::string_view name, size_t size) {
    return ProbeImage(Expectations::Get().file(std::string(name)).first(size));
  };
  EXPECT_THAT(cut("jpeg_420", 100), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut")));
  EXPECT_THAT(cut("png_2_8", 20), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut")));
}

TEST(CheckImageLimitsTest, RefusesLargeImages) {
  ImageInfo info;
  info.width = 1 << 14;
  info.height = 1 << 12;
  EXPECT_OK(CheckImageLimits(info, {}));
  info.height += 1;
  EXPECT_THAT(CheckImageLimits(info, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("67108864")));
  info = {};
  info.width = 70000;
  info.height = 1;
  EXPECT_THAT(CheckImageLimits(info, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65535")));
}

}  // namespace
}  // namespace penstock
