#include "records/image/image_transform.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "records/image/library_version.h"
#include "records/image/self_test_images.h"
#include "records/image/testing/expectations.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

void SetCrop(const nlohmann::json& expected, ImageOps& ops) {
  const std::string op = expected["op"];
  const Size output{expected["width"], expected["height"]};
  if (op == "random_resized_crop") ops.crop = RandomResizedCropOp{output, {}};
  if (op == "resize") ops.crop = ResizeOp{output};
  if (op == "resize_shorter") ops.crop = ResizeShorterOp{expected["side"], output};
  if (op == "random_crop") {
    const bool reflect = expected.value("reflect", false);
    ops.crop =
        RandomCropOp{output, expected["padding"], reflect ? Padding::kReflect : Padding::kZero};
  }
}

ImageOps OpsOf(const nlohmann::json& expected) {
  ImageOps ops;
  ops.channels = expected["channels"];
  ops.orient = expected["orient"];
  ops.flip_probability = 0.5;
  if (expected["nearest"]) ops.interpolation = Interpolation::kNearest;
  SetCrop(expected, ops);
  return ops;
}

class ImageTransformTest : public ::testing::Test {
 protected:
  absl::StatusOr<Bytes> Apply(std::span<const uint8_t> file, const ImageOps& ops,
                              const Uniforms& uniforms = Uniforms(uint64_t{1})) {
    EXPECT_OK(ops.Validate());
    Bytes out(ops.output_bytes());
    const absl::StatusOr<ImageNotes> notes = transform_.Apply(file, ops, uniforms, out);
    if (!notes.ok()) return notes.status();
    return out;
  }
  std::span<const uint8_t> Photo() { return Expectations::Get().file("photo"); }

  ImageTransform transform_;
};

TEST_F(ImageTransformTest, EqualsTorchvision) {
  for (const nlohmann::json& expected : Expectations::Get()["pipelines"]) {
    ASSERT_OK_AND_ASSIGN(const Bytes out,
                         Apply(Expectations::Get().file(expected["file"]), OpsOf(expected),
                               Uniforms(expected["key"].get<uint64_t>())));
    EXPECT_EQ(HexDigest(out), expected["digest"].get<std::string>()) << expected.dump();
  }
}

TEST_F(ImageTransformTest, GivesAMaskTheCropAndFlipOfItsImage) {
  ImageOps image, mask;
  image.flip_probability = mask.flip_probability = 0.5;
  image.crop = mask.crop = RandomResizedCropOp{{20, 20}, {}};
  mask.channels = 1;
  for (uint64_t ordinal = 0; ordinal < 20; ++ordinal) {
    const Uniforms uniforms(ImageKey(7, ordinal, 0));
    ASSERT_OK_AND_ASSIGN(const Bytes a,
                         Apply(Expectations::Get().file("jpeg_grey"), image, uniforms));
    ASSERT_OK_AND_ASSIGN(const Bytes b,
                         Apply(Expectations::Get().file("jpeg_grey"), mask, uniforms));
    for (size_t i = 0; i < b.size(); ++i) ASSERT_EQ(a[3 * i], b[i]);
  }
}

TEST_F(ImageTransformTest, RefusesPicturesTooSmallForARandomCrop) {
  ImageOps ops;
  ops.crop = RandomCropOp{{120, 20}, 4, Padding::kZero};
  EXPECT_THAT(Apply(Photo(), ops), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("97x61 pixels with padding 4")));
}

TEST_F(ImageTransformTest, RefusesPicturesTooLongToResize) {
  ImageOps ops;
  ops.crop = ResizeShorterOp{ImageOps::kMaxSide, {1, 1}};
  EXPECT_OK(Apply(Expectations::Get().file("jpeg_40x1"), ops));
  Bytes png(Expectations::Get().file("png_19x1").begin(),
            Expectations::Get().file("png_19x1").end());
  ops.limits.max_side = 10;
  EXPECT_THAT(Apply(png, ops), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("19x1")));
}

TEST(ImageOpsTest, NamesWhatIsOutOfRange) {
  ImageOps ops;
  const auto says = [](absl::string_view what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(what)));
  };
  EXPECT_THAT(ops.Validate(), says("output size"));
  ops.crop = ResizeOp{{5, 5}};
  EXPECT_OK(ops.Validate());
  ops.channels = 2;
  EXPECT_THAT(ops.Validate(), says("channels are 2"));
  ops.channels = 3;
  ops.flip_probability = 1.5;
  EXPECT_THAT(ops.Validate(), says("flip is 1.5"));
  ops.flip_probability = 0;
  ops.crop = ResizeShorterOp{4, {5, 4}};
  EXPECT_THAT(ops.Validate(), says("center_crop: 5x4"));
  ops.crop = RandomResizedCropOp{{5, 5}, {.area_min = 0}};
  EXPECT_THAT(ops.Validate(), says("area_min"));
  ops.crop = RandomResizedCropOp{{5, 5}, {.ratio_min = 2, .ratio_max = 1}};
  EXPECT_THAT(ops.Validate(), says("ratio_min"));
  ops.crop = RandomCropOp{{5, 5}, 100000, Padding::kZero};
  EXPECT_THAT(ops.Validate(), says("padding 100000"));
  ops.crop = ResizeOp{{5, 5}};
  ops.limits.max_scans = 0;
  EXPECT_THAT(ops.Validate(), says("limits"));
}

// Pillow's own build, with another version of libjpeg-turbo, gives the same digest.
TEST(ImageLibraryVersionTest, EqualsWhatPillowComputes) {
  EXPECT_EQ(ImageLibraryDigest(), Expectations::Get()["self_test"].get<std::string>());
  EXPECT_EQ(SelfTestImages().size(), 5);
}

std::vector<std::filesystem::path> Photographs(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(root / "data" / "images")) {
    if (entry.path().extension() == ".JPG") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Bytes ReadBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ImageTransformTest, EqualsTorchvisionOnPhotographs) {
  const char* root = std::getenv("PENSTOCK_TEST_DATA");
  if (root == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
  const nlohmann::json& expected = Expectations::Get()["photographs"];
  ImageOps ops;
  ops.crop = RandomResizedCropOp{{72, 72}, {}};
  ops.flip_probability = 0.5;
  ImageDecoder decoder;
  Sha256 whole, train;
  uint64_t count = 0;
  for (const std::filesystem::path& path : Photographs(root)) {
    const Bytes file = ReadBytes(path);
    ASSERT_OK_AND_ASSIGN(const DecodedImage image, decoder.Decode(file, {}));
    whole.Update({image.pixels.data, image.pixels.bytes()});
    ASSERT_OK_AND_ASSIGN(const Bytes out, Apply(file, ops, Uniforms(count++)));
    train.Update(out);
  }
  EXPECT_EQ(count, expected["count"]);
  EXPECT_EQ(whole.Hex(), expected["rgb"].get<std::string>());
  EXPECT_EQ(train.Hex(), expected["train"].get<std::string>());
}

}  // namespace
}  // namespace penstock
