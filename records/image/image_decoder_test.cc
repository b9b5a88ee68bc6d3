#include "records/image/image_decoder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "records/image/testing/expectations.h"
#include "records/image/testing/grey16_png.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

std::string DigestOf(const DecodedImage& image) {
  return HexDigest({image.pixels.data, image.pixels.bytes()});
}

class ImageDecoderTest : public ::testing::Test {
 protected:
  Bytes File(const std::string& name) {
    const std::span<const uint8_t> file = Expectations::Get().file(name);
    return {file.begin(), file.end()};
  }
  Bytes Cut(const std::string& name, size_t less) {
    Bytes bytes = File(name);
    bytes.resize(bytes.size() - less);
    return bytes;
  }
  // For pictures without orientation, the digest for turned pictures is absent and equals the
  // normal one.
  void ExpectAllEqual(const std::string& kind, const ImageDecodeOptions& options) {
    for (const auto& [name, expected] : Expectations::Get()["decoded"].items()) {
      const std::string turned = "turned_" + kind;
      const std::string digest = options.orient && expected.contains(turned) ? turned : kind;
      ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                           decoder_.Decode(Expectations::Get().file(name), options));
      EXPECT_EQ(DigestOf(image), expected[digest].get<std::string>()) << name;
      EXPECT_FALSE(image.notes.truncated) << name;
    }
  }

  ImageDecoder decoder_;
};

TEST_F(ImageDecoderTest, EqualsPillowInRgb) { ExpectAllEqual("rgb", {.channels = 3}); }

TEST_F(ImageDecoderTest, EqualsPillowInGrey) { ExpectAllEqual("grey", {.channels = 1}); }

TEST_F(ImageDecoderTest, ShrinksAsPillowDoes) {
  for (const auto& [name, expected] : Expectations::Get()["decoded"].items()) {
    for (const auto& [kind, shrink] : {std::pair("half", 2u), std::pair("quarter", 4u)}) {
      if (!expected.contains(kind)) continue;
      ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                           decoder_.Decode(Expectations::Get().file(name), {.shrink = shrink}));
      EXPECT_EQ(DigestOf(image), expected[kind].get<std::string>()) << name << " " << kind;
    }
  }
}

TEST_F(ImageDecoderTest, TurnsAsPillowDoes) {
  ExpectAllEqual("rgb", {.channels = 3, .orient = true});
  ExpectAllEqual("grey", {.channels = 1, .orient = true});
}

TEST_F(ImageDecoderTest, ExchangesSidesOfTurnedPictures) {
  ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                       decoder_.Decode(File("jpeg_orientation_6"), {.orient = true}));
  EXPECT_EQ(image.pixels.width, image.info.height);
  EXPECT_EQ(image.pixels.height, image.info.width);
}

TEST_F(ImageDecoderTest, ReportsAMissingEndMarker) {
  for (const char* name : {"jpeg_420", "jpeg_420_progressive", "png_2_8"}) {
    for (const size_t less : {1, 2, 13, 60}) {
      EXPECT_THAT(decoder_.Decode(Cut(name, less), {}),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("end marker is missing")))
          << name << " less " << less;
    }
  }
}

TEST_F(ImageDecoderTest, FillsCutFilesOnRequest) {
  for (const char* name : {"jpeg_420", "jpeg_420_progressive", "png_2_8", "png_2_8_interlaced"}) {
    ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                         decoder_.Decode(Cut(name, 100), {.fill_truncated = true}));
    EXPECT_TRUE(image.notes.truncated) << name;
  }
}

TEST_F(ImageDecoderTest, KeepsAllPixelsIfOnlyTheEndMarkerIsMissing) {
  for (const auto& [name, less] : {std::pair("jpeg_420", 2), std::pair("png_2_8", 12)}) {
    ASSERT_OK_AND_ASSIGN(
        const DecodedImage image,
        decoder_.Decode(Cut(name, static_cast<size_t>(less)), {.fill_truncated = true}));
    EXPECT_TRUE(image.notes.truncated) << name;
    EXPECT_EQ(DigestOf(image), Expectations::Get()["decoded"][name]["rgb"].get<std::string>());
  }
}

TEST_F(ImageDecoderTest, Clips16BitGreyOrScalesIt) {
  const std::string png = Grey16Png();
  for (const int channels : {1, 3}) {
    const auto values = [&](bool scale) {
      const auto image =
          decoder_.Decode(BytesOf(png), {.channels = channels, .scale_grey16 = scale});
      EXPECT_OK(image.status());
      std::vector<int> firsts;
      for (size_t i = 0; i < image->pixels.bytes(); i += static_cast<size_t>(channels)) {
        firsts.push_back(image->pixels.data[i]);
      }
      return firsts;
    };
    EXPECT_THAT(values(false), ElementsAre(0, 128, 129, 255, 255, 255, 255, 255));
    EXPECT_THAT(values(true), ElementsAre(0, 0, 1, 1, 1, 128, 255, 255));
  }
}

TEST_F(ImageDecoderTest, FillsCutPngWithZeros) {
  const Bytes cut = Cut("png_2_8", 100);
  ASSERT_OK(decoder_.Decode(File("png_2_16"), {}));
  ASSERT_OK_AND_ASSIGN(const DecodedImage image, decoder_.Decode(cut, {.fill_truncated = true}));
  const uint8_t* end = image.pixels.data + image.pixels.bytes();
  EXPECT_TRUE(std::all_of(end - image.pixels.row_bytes(), end, [](uint8_t v) { return v == 0; }));
}

TEST_F(ImageDecoderTest, DoesNotUseTablesOfTheImageBefore) {
  Bytes without_tables = File("jpeg_420");  // Turns its DQT segments into comments.
  for (size_t i = 0; i + 1 < without_tables.size(); ++i) {
    if (without_tables[i] == 0xff && without_tables[i + 1] == 0xdb) without_tables[i + 1] = 0xfe;
  }
  const absl::Status alone = ImageDecoder().Decode(without_tables, {}).status();
  EXPECT_THAT(alone, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("uantization table")));
  ASSERT_OK(decoder_.Decode(File("jpeg_420"), {}));
  EXPECT_EQ(decoder_.Decode(without_tables, {}).status(), alone);
}

TEST_F(ImageDecoderTest, CountsWarningsOfTheLibrary) {
  Bytes damaged = File("jpeg_restart");
  const Bytes marker = {0xff, 0xd1};
  const auto at = std::search(damaged.begin(), damaged.end(), marker.begin(), marker.end());
  ASSERT_NE(at, damaged.end());
  *(at + 1) = 0xd5;
  ASSERT_OK_AND_ASSIGN(const DecodedImage image, decoder_.Decode(damaged, {}));
  EXPECT_GT(image.notes.warnings, 0);
}

TEST_F(ImageDecoderTest, ReportsDamageOfPng) {
  Bytes damaged = File("png_2_8");
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_THAT(decoder_.Decode(damaged, {}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("PNG")));
}

// A repeated scan takes a few bytes, but costs the time of the whole image.
TEST_F(ImageDecoderTest, RefusesTooManyScans) {
  const Bytes file = File("jpeg_444_progressive");
  EXPECT_OK(decoder_.Decode(file, {.limits = {.max_scans = 10}}));
  EXPECT_THAT(decoder_.Decode(file, {.limits = {.max_scans = 9}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 9 scans")));
}

TEST_F(ImageDecoderTest, RefusesLargeImagesBeforeDecoding) {
  EXPECT_THAT(decoder_.Decode(File("jpeg_420"), {.limits = {.max_pixels = 1000}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("37x29")));
}

TEST_F(ImageDecoderTest, GoesOnAfterAnError) {
  EXPECT_FALSE(decoder_.Decode(Cut("jpeg_420", 300), {}).ok());
  EXPECT_FALSE(decoder_.Decode(Cut("png_2_8", 30), {}).ok());
  ExpectAllEqual("rgb", {});
}

}  // namespace
}  // namespace penstock
