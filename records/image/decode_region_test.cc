// Tests that decoding a region gives the pixels of that region in the whole picture, bit for bit,
// and that a transform that decodes a region gives the same output as one that decodes the whole
// picture.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "records/image/image_transform.h"
#include "records/image/testing/expectations.h"
#include "records/image/testing/large_images.h"
#include "records/image/testing/region.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kMostSide = 160;

// The upper left part of one picture, with this size.
Bytes PictureOf(const Size& size) {
  static const Bytes all = DrawPicture(kMostSide, kMostSide);
  Bytes rgb;
  for (size_t y = 0; y < size.height; ++y) {
    const auto row = all.begin() + static_cast<ptrdiff_t>(y * kMostSide * 3);
    rgb.insert(rgb.end(), row, row + ptrdiff_t{size.width} * 3);
  }
  return rgb;
}

uint32_t RandomSide(CounterRng& rng) {
  return static_cast<uint32_t>(1 + rng.Below(rng.Below(4) == 0 ? 20 : kMostSide));
}

// Makes regions at the edges, and regions of one sample, more frequent than RandomRegion() does.
void MoveToAnEdge(CounterRng& rng, uint32_t side, int64_t& first, uint32_t& count) {
  const uint64_t choice = rng.Below(4);
  if (choice == 0) count = 1;
  if (choice == 1) first = 0;
  if (choice == 2) first = side - count;
}

CropRect RandomRegionOrEdge(CounterRng& rng, const Size& picture) {
  CropRect region = RandomRegion(rng, picture);
  MoveToAnEdge(rng, picture.width, region.left, region.width);
  MoveToAnEdge(rng, picture.height, region.top, region.height);
  return region;
}

class DecodeRegionTest : public ::testing::Test {
 protected:
  void ExpectRegionsOfWhole(std::span<const uint8_t> file, const ImageDecodeOptions& options,
                            int regions) {
    ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(file));
    ASSERT_OK_AND_ASSIGN(const DecodedImage whole, whole_.Decode(file, options));
    const Size picture = ShrunkSize(PictureSize(info, options.orient), options.shrink);
    ASSERT_EQ(picture, (Size{whole.pixels.width, whole.pixels.height}));
    for (int i = 0; i < regions; ++i) {
      const CropRect region = RandomRegionOrEdge(rng_, picture);
      SCOPED_TRACE(absl::StrCat(region.width, "x", region.height, " at ", region.left, ",",
                                region.top, " of ", picture.width, "x", picture.height));
      ASSERT_OK_AND_ASSIGN(const DecodedImage part,
                           region_.DecodeRegion(file, info, options, region));
      ASSERT_TRUE(Holds(part, region));
      ASSERT_TRUE(EqualIn(region, whole, part));
      decoded_pixels_ += part.pixels.bytes();
      whole_pixels_ += whole.pixels.bytes();
    }
  }

  CounterRng rng_{1};
  ImageDecoder whole_, region_;
  uint64_t decoded_pixels_ = 0, whole_pixels_ = 0;
};

// Blocks of an interleaved unit; JPEG allows ten.
int Blocks(const JpegKind& kind) {
  const int luma = kind.horizontal * kind.vertical;
  const int chroma = kind.chroma_horizontal * kind.chroma_vertical;
  return kind.components == 1 ? 1 : luma * (kind.components - 2) + chroma * 2;
}

// All ratios of luma to chroma that the library can upsample: the whole numbers.
std::vector<JpegKind> AllSamplings() {
  std::vector<JpegKind> kinds;
  for (const int components : {1, 3, 4}) {
    for (const int horizontal : {1, 2, 3, 4}) {
      for (const int vertical : {1, 2, 3, 4}) {
        for (const auto& [chroma_horizontal, chroma_vertical] :
             {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2)}) {
          const JpegKind kind{.horizontal = horizontal,
                              .vertical = vertical,
                              .components = components,
                              .chroma_horizontal = chroma_horizontal,
                              .chroma_vertical = chroma_vertical};
          const bool fractions = (horizontal == 3 && chroma_horizontal == 2) ||
                                 (vertical == 3 && chroma_vertical == 2);
          if (Blocks(kind) <= 10 && (components == 1 || !fractions)) kinds.push_back(kind);
        }
      }
    }
  }
  return kinds;
}

std::string Name(const JpegKind& kind) {
  return absl::StrCat(kind.components, " components ", kind.horizontal, "x", kind.vertical, " ",
                      kind.chroma_horizontal, "x", kind.chroma_vertical, " quality ", kind.quality,
                      " restart ", kind.restart_interval);
}

TEST_F(DecodeRegionTest, EqualsThatOfTheWholePicture) {
  for (JpegKind kind : AllSamplings()) {
    for (int i = 0; i < 20; ++i) {
      kind.quality = i % 2 == 0 ? 95 : 40;
      kind.restart_interval = i % 4 == 3 ? static_cast<unsigned>(1 + rng_.Below(9)) : 0;
      const Size size{RandomSide(rng_), RandomSide(rng_)};
      SCOPED_TRACE(absl::StrCat(Name(kind), " ", size.width, "x", size.height));
      const Bytes file = EncodeJpeg(PictureOf(size), size.width, size.height, kind);
      const ImageDecodeOptions options{.channels = rng_.Below(2) == 0 ? 1 : 3,
                                       .shrink = uint32_t{1} << rng_.Below(3)};
      ASSERT_NO_FATAL_FAILURE(ExpectRegionsOfWhole(file, options, 30));
    }
  }
  EXPECT_LT(decoded_pixels_, whole_pixels_ / 2);
}

TEST_F(DecodeRegionTest, EqualsThatOfAProgressiveOrPngPicture) {
  for (int i = 0; i < 50; ++i) {
    const Size size{RandomSide(rng_), RandomSide(rng_)};
    const Bytes rgb = PictureOf(size);
    const Bytes jpeg = EncodeJpeg(rgb, size.width, size.height, {.progressive = true});
    ASSERT_NO_FATAL_FAILURE(ExpectRegionsOfWhole(jpeg, {}, 5));
    ASSERT_NO_FATAL_FAILURE(ExpectRegionsOfWhole(EncodePng(rgb, size.width, size.height), {}, 5));
  }
}

TEST_F(DecodeRegionTest, EqualsThatOfTheTurnedPicture) {
  for (const auto& [name, file] : Expectations::Get().files()) {
    SCOPED_TRACE(name);
    for (const int channels : {1, 3}) {
      const bool jpeg = name.starts_with("jpeg") || name == "photo";
      for (const uint32_t shrink :
           jpeg ? std::vector<uint32_t>{1, 2, 4} : std::vector<uint32_t>{1}) {
        ASSERT_NO_FATAL_FAILURE(ExpectRegionsOfWhole(
            file, {.channels = channels, .orient = true, .shrink = shrink}, 30));
      }
    }
  }
}

// The margins beside a region are up to a block wide, so only a large picture shows the saving.
TEST_F(DecodeRegionTest, TakesLittleMoreThanTheRegion) {
  const Bytes file = EncodeJpeg(DrawPicture(640, 480), 640, 480, {});
  ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(file));
  ASSERT_OK_AND_ASSIGN(const DecodedImage part,
                       region_.DecodeRegion(file, info, {}, {300, 200, 100, 90}));
  EXPECT_EQ(part.left, 288);
  EXPECT_EQ(part.top, 200);
  EXPECT_EQ(part.pixels.width, 404 - 288);
  EXPECT_EQ(part.pixels.height, 90);
}

ImageOps RandomOps(CounterRng& rng, const Size& picture) {
  const Size output{static_cast<uint32_t>(1 + rng.Below(60)),
                    static_cast<uint32_t>(1 + rng.Below(60))};
  ImageOps ops;
  ops.channels = rng.Below(2) == 0 ? 1 : 3;
  ops.flip_probability = 0.5;
  if (rng.Below(3) == 0) ops.interpolation = Interpolation::kNearest;
  switch (rng.Below(4)) {
    case 0:
      ops.crop = RandomResizedCropOp{output, {}};
      break;
    case 1:
      ops.crop = ResizeOp{output};
      break;
    case 2:
      ops.crop = ResizeShorterOp{60, output};
      break;
    default:
      ops.crop = RandomCropOp{{std::min(output.width, picture.width + 10),
                               std::min(output.height, picture.height + 10)},
                              static_cast<uint32_t>(5 + rng.Below(100)),
                              rng.Below(2) == 0 ? Padding::kZero : Padding::kReflect};
  }
  return ops;
}

// A PNG of the decoded JPEG has the same pixels, and is always decoded whole.
TEST_F(DecodeRegionTest, MakesTheTransformOfTheWholePicture) {
  ImageTransform transform;
  for (uint64_t i = 0; i < 1000; ++i) {
    SCOPED_TRACE(absl::StrCat("case ", i));
    const Size size{RandomSide(rng_), RandomSide(rng_)};
    const JpegKind kind{.horizontal = 1 + static_cast<int>(rng_.Below(2)),
                        .vertical = 1 + static_cast<int>(rng_.Below(2))};
    const Bytes jpeg = EncodeJpeg(PictureOf(size), size.width, size.height, kind);
    ASSERT_OK_AND_ASSIGN(const DecodedImage whole, whole_.Decode(jpeg, {}));
    const Bytes rgb(whole.pixels.data, whole.pixels.data + whole.pixels.bytes());
    const Bytes png = EncodePng(rgb, size.width, size.height);
    const ImageOps ops = RandomOps(rng_, size);
    ASSERT_OK(ops.Validate());
    Bytes of_region(ops.output_bytes()), of_whole(ops.output_bytes());
    ASSERT_OK(transform.Apply(jpeg, ops, Uniforms(i), of_region));
    ASSERT_OK(transform.Apply(png, ops, Uniforms(i), of_whole));
    ASSERT_EQ(of_region, of_whole);
  }
}

}  // namespace
}  // namespace penstock
