#include "records/image/scaled_decoding.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "records/image/image_transform.h"
#include "records/image/testing/expectations.h"
#include "records/image/testing/large_images.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr ImageInfo kPhoto = {.format = ImageFormat::kJpeg, .width = 3023, .height = 2001};

ResizeRequest Request(double width, double height, uint32_t out_width, uint32_t out_height) {
  return {.box = {0, 0, width, height}, .width = out_width, .height = out_height};
}

TEST(ScaledDecodingTest, KeepsTwiceTheOutputOnBothAxes) {
  EXPECT_EQ(ShrinkFor(kPhoto, Request(895, 2001, 224, 224)), 1);
  EXPECT_EQ(ShrinkFor(kPhoto, Request(896, 896, 224, 224)), 2);
  EXPECT_EQ(ShrinkFor(kPhoto, Request(896, 895, 224, 224)), 1);
  EXPECT_EQ(ShrinkFor(kPhoto, Request(1791, 2001, 224, 224)), 2);
  EXPECT_EQ(ShrinkFor(kPhoto, Request(1792, 1792, 224, 224)), 4);
  EXPECT_EQ(ShrinkFor(kPhoto, Request(3000, 2000, 10, 10)), 4);
}

TEST(ScaledDecodingTest, IsForJpegsThatAreResized) {
  ImageInfo png = kPhoto;
  png.format = ImageFormat::kPng;
  EXPECT_EQ(ShrinkFor(png, Request(3000, 2000, 10, 10)), 1);
  EXPECT_EQ(ShrinkFor(kPhoto, PaddedCrop()), 1);
}

TEST(ScaledDecodingTest, KeepsTheFractionsOfABox) {
  const ResizeRequest shrunk = Shrunk({.box = {9, 5, 1802, 2001}}, 4, kPhoto, false);
  EXPECT_EQ(shrunk.box.left, 2.25);
  EXPECT_EQ(shrunk.box.top, 1.25);
  EXPECT_EQ(shrunk.box.right, 450.5);
  EXPECT_EQ(shrunk.box.bottom, 500.25);
}

// 3023 / 4 is 755.75: a quarter of the last column is outside the picture. If the picture is
// mirrored, this column comes first.
TEST(ScaledDecodingTest, CountsATurnedBoxFromTheSideThatIsFull) {
  ImageInfo mirrored = kPhoto;
  mirrored.orientation = 2;
  EXPECT_EQ(Shrunk({.box = {0, 0, 3023, 2001}}, 4, mirrored, true).box.left, 0.25);
  EXPECT_EQ(Shrunk({.box = {0, 0, 3023, 2001}}, 4, mirrored, true).box.right, 756);
  EXPECT_EQ(Shrunk({.box = {0, 0, 3023, 2001}}, 4, mirrored, false).box.left, 0);
  ImageInfo quarter_turn = kPhoto;
  quarter_turn.orientation = 6;
  const ResizeRequest::Box box = Shrunk({.box = {0, 0, 2001, 3023}}, 4, quarter_turn, true).box;
  EXPECT_EQ(box.left, 0.75);
  EXPECT_EQ(box.right, 501);
  EXPECT_EQ(box.bottom, 755.75);
}

class ScaledTransformTest : public ::testing::Test {
 protected:
  Bytes Apply(std::span<const uint8_t> file, ImageOps ops, bool scaled) {
    ops.scaled_decoding = scaled;
    EXPECT_OK(ops.Validate());
    Bytes out(ops.output_bytes());
    EXPECT_OK(transform_.Apply(file, ops, Uniforms(uint64_t{1}), out).status());
    return out;
  }
  // The mean difference between values of the scaled and the full-scale decoding.
  double MeanError(std::span<const uint8_t> file, const ImageOps& ops) {
    const Bytes full = Apply(file, ops, false), scaled = Apply(file, ops, true);
    double sum = 0;
    for (size_t i = 0; i < full.size(); ++i) sum += std::abs(full[i] - scaled[i]);
    return sum / static_cast<double>(full.size());
  }

  ImageTransform transform_;
};

TEST_F(ScaledTransformTest, SeesTheSamePicture) {
  const Bytes rgb = DrawPicture(1203, 801);
  for (const JpegKind& kind :
       {JpegKind{}, JpegKind{.horizontal = 1, .vertical = 1}, JpegKind{.progressive = true}}) {
    const Bytes file = EncodeJpeg(rgb, 1203, 801, kind);
    for (const uint32_t side : {50, 100, 201}) {
      ImageOps ops;
      ops.crop = ResizeOp{{side, side}};
      const double error = MeanError(file, ops);
      EXPECT_LT(error, 1);
      EXPECT_EQ(error > 0, side < 201) << side;
    }
  }
}

TEST_F(ScaledTransformTest, SeesTheSameTurnedPicture) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = absl::StrCat("jpeg_orientation_", orientation);
    ImageOps ops;
    ops.orient = true;
    ops.crop = ResizeOp{{3, 3}};
    EXPECT_LT(MeanError(Expectations::Get().file(name), ops), 2) << name;
  }
}

TEST_F(ScaledTransformTest, LeavesPngsAlone) {
  const Bytes file = EncodePng(DrawPicture(400, 400), 400, 400);
  ImageOps ops;
  ops.crop = ResizeOp{{20, 20}};
  EXPECT_EQ(MeanError(file, ops), 0);
}

}  // namespace
}  // namespace penstock
