#include "cli/pack/image_records.h"

#include <sys/stat.h>

#include <filesystem>

#include "cli/pack/testing/small_images.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ImageRecordsTest : public ::testing::Test {
 protected:
  ImageFolder List() const {
    return *ListImageFolder(folder_.path(), [] { return absl::OkStatus(); });
  }
  std::string Key(const ShrinkOptions& options = {}) const {
    const ImageFolder images = List();
    return ImageRecords(images, options, /*decode_all=*/false).key();
  }
  // Makes record 0 of `images`.
  static absl::Status Make(const ImageFolder& images, absl::Status& invalid,
                           bool decode_all = false) {
    const ImageRecords records(images, {}, decode_all);
    RecordMaker::Made made;
    const absl::Status status = records.NewMaker()->Make(0, made);
    invalid = made.invalid;
    return status;
  }

  TempFolder folder_;
};

TEST_F(ImageRecordsTest, TheKeyCoversAllThatDecidesTheRecords) {
  const std::string file = folder_.Write("a/1.jpg", SmallJpeg(8, 8));
  const std::string key = Key();
  EXPECT_EQ(Key(), key);
  EXPECT_NE(Key({.max_side = 4}), key);
  EXPECT_NE(Key({.max_side = 4, .quality = 80}), Key({.max_side = 4}));
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  const std::string touched = Key();
  EXPECT_NE(touched, key);
  fs::rename(folder_.File("a"), folder_.File("b"));
  EXPECT_NE(Key(), touched);
}

TEST_F(ImageRecordsTest, ATruncatedImageIsFoundIfAllAreDecoded) {
  const std::string whole = SmallJpeg(64, 64);
  folder_.Write("a/1.jpg", whole.substr(0, whole.size() - 40));
  const ImageFolder images = List();
  absl::Status invalid;
  ASSERT_OK(Make(images, invalid));
  EXPECT_OK(invalid);
  ASSERT_OK(Make(images, invalid, /*decode_all=*/true));
  EXPECT_THAT(invalid, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("JPEG: ")));
  EXPECT_NE(ImageRecords(images, {}, /*decode_all=*/true).key(), Key());
}

TEST_F(ImageRecordsTest, AFileThatChangesIsAnErrorAndNotAnInvalidImage) {
  folder_.Write("a/1.jpg", SmallJpeg(8, 8));
  const ImageFolder images = List();
  folder_.Write("a/1.jpg", SmallJpeg(80, 80));
  absl::Status invalid;
  EXPECT_THAT(Make(images, invalid),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("a/1.jpg: changed"), HasSubstr("run the command again"))));
  EXPECT_OK(invalid);
}

TEST_F(ImageRecordsTest, APipeIsNoFile) {
  fs::create_directory(folder_.File("a"));
  ASSERT_EQ(mkfifo(folder_.File("a/1.jpg").c_str(), 0600), 0);
  absl::Status invalid;
  EXPECT_THAT(Make(List(), invalid),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a/1.jpg: is a pipe")));
}

TEST_F(ImageRecordsTest, ARecordFitsIntoAChunk) {
  const std::string file = folder_.Write("a/1.png", SmallPng(8, 8));
  fs::resize_file(file, 65 << 20);  // A hole after the image.
  absl::Status invalid;
  EXPECT_OK(Make(List(), invalid));
  EXPECT_THAT(invalid, StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("64"), HasSubstr("--max-side"))));
}

TEST(ReducedSizeTest, KeepsTheRatioAsFarAsPixelsCan) {
  EXPECT_EQ(ReducedSize({4000, 3000}, 256), (Size{256, 192}));
  EXPECT_EQ(ReducedSize({3000, 4000}, 256), (Size{192, 256}));
  EXPECT_EQ(ReducedSize({301, 150}, 100), (Size{100, 50}));
  EXPECT_EQ(ReducedSize({10000, 1}, 100), (Size{100, 1}));
}

}  // namespace
}  // namespace penstock
