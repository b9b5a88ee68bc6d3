#include "records/dataset/image_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kRefused = absl::StatusCode::kInvalidArgument;

class ImageFolderTest : public ::testing::Test {
 protected:
  absl::StatusOr<ImageFolder> List() const {
    return ListImageFolder(folder_.path(), [] { return absl::OkStatus(); });
  }
  static std::vector<std::string> Paths(const ImageFolder& images) {
    std::vector<std::string> paths;
    for (const ImageFile& file : images.files) paths.push_back(file.path);
    return paths;
  }

  TempFolder folder_;
};

TEST_F(ImageFolderTest, LabelsCountFromZeroInTheOrderOfNames) {
  for (const char* name : {"dog", "Zebra", "cat", "10", "9"}) {
    folder_.Write(std::string(name) + "/a.jpg", "12345");
  }
  ASSERT_OK_AND_ASSIGN(const ImageFolder images, List());
  EXPECT_THAT(images.classes, ElementsAre("10", "9", "Zebra", "cat", "dog"));
  ASSERT_EQ(images.files.size(), 5u);
  EXPECT_EQ(images.files[3].path, "cat/a.jpg");
  EXPECT_EQ(images.files[3].label, 3u);
  EXPECT_EQ(images.files[3].size, 5u);
  EXPECT_EQ(images.bytes, 25u);
}

// sorted(os.walk()) compares folders first: "a/z.jpg" comes before "a/b/c.jpg".
TEST_F(ImageFolderTest, TheOrderIsThatOfTorchvision) {
  for (const char* file : {"a/z.jpg", "a/b/c.jpg", "a/b-d/e.jpg", "a/b/a/f.jpg", "a-b/y.jpg",
                           "a/B.jpg", "a/.hidden.jpg"}) {
    folder_.Write(file, "x");
  }
  ASSERT_OK_AND_ASSIGN(const ImageFolder images, List());
  EXPECT_THAT(images.classes, ElementsAre("a", "a-b"));
  EXPECT_THAT(Paths(images), ElementsAre("a/.hidden.jpg", "a/B.jpg", "a/z.jpg", "a/b/c.jpg",
                                         "a/b-d/e.jpg", "a/b/a/f.jpg", "a-b/y.jpg"));
}

TEST_F(ImageFolderTest, CountsWhatIsNoImageByItsName) {
  for (const char* file : {"a/1.jpg", "a/2.JPEG", "a/3.Png", "a/4.webp", "a/Thumbs.db", "5.jpg"}) {
    folder_.Write(file, "x");
  }
  ASSERT_OK_AND_ASSIGN(const ImageFolder images, List());
  EXPECT_THAT(Paths(images), ElementsAre("a/1.jpg", "a/2.JPEG", "a/3.Png"));
  EXPECT_EQ(images.num_others, 3u);
  EXPECT_EQ(images.first_other, folder_.File("5.jpg"));
}

TEST_F(ImageFolderTest, LinksAreFollowed) {
  folder_.Write("elsewhere/1.jpg", "x");
  fs::create_directory(folder_.File("data"));
  fs::create_directory_symlink("../elsewhere", folder_.File("data/cat"));
  folder_.Write("data/dog/2.jpg", "x");
  fs::create_symlink("../../elsewhere/1.jpg", folder_.File("data/dog/3.jpg"));
  ASSERT_OK_AND_ASSIGN(const ImageFolder images,
                       ListImageFolder(folder_.File("data"), [] { return absl::OkStatus(); }));
  EXPECT_THAT(Paths(images), ElementsAre("cat/1.jpg", "dog/2.jpg", "dog/3.jpg"));
}

TEST_F(ImageFolderTest, LinksThatLeadNowhereOrUpAreRefused) {
  folder_.Write("cat/1.jpg", "x");
  fs::create_symlink("none", folder_.File("cat/2.jpg"));
  EXPECT_THAT(List(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("cat/2.jpg"), HasSubstr("whose target does not exist"))));
  fs::remove(folder_.File("cat/2.jpg"));
  fs::create_directory_symlink("..", folder_.File("cat/up"));
  EXPECT_THAT(List(), StatusIs(kRefused, HasSubstr("cat/up: is a link to a folder that contains")));
}

TEST_F(ImageFolderTest, NamesNeedNotBeUtf8ButHaveNoLineBreaks) {
  folder_.Write("caf\xe9/\xff.jpg", "x");
  ASSERT_OK_AND_ASSIGN(const ImageFolder images, List());
  EXPECT_THAT(images.classes, ElementsAre("caf\xe9"));
  EXPECT_THAT(Paths(images), ElementsAre("caf\xe9/\xff.jpg"));
  folder_.Write("two\nlines/1.jpg", "x");
  EXPECT_THAT(List(), StatusIs(kRefused, AllOf(HasSubstr("rename the folder"),
                                               HasSubstr("class 1 has a line break"))));
}

TEST_F(ImageFolderTest, SaysWhatAFolderLacks) {
  EXPECT_THAT(List(), StatusIs(kRefused, HasSubstr("has no class folders: put the images")));
  folder_.Write("1.jpg", "x");
  EXPECT_THAT(List(), StatusIs(kRefused, HasSubstr("has no class folders, and 1 image of no")));
  folder_.Write("cat/1.jpg", "x");
  folder_.Write("empty/readme.txt", "x");
  EXPECT_THAT(List(), StatusIs(kRefused, HasSubstr("/empty has no file *.jpg")));
  fs::create_directory(folder_.File(".ipynb_checkpoints"));
  EXPECT_THAT(List(), StatusIs(kRefused, HasSubstr("/.ipynb_checkpoints and 1 more folder have")));
  EXPECT_THAT(ListImageFolder(folder_.File("none"), [] { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(ImageFolderTest, AFolderThatMayNotBeReadIsAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  folder_.Write("cat/1.jpg", "x");
  folder_.Write("dog/1.jpg", "x");
  ::chmod(folder_.File("dog").c_str(), 0);
  EXPECT_THAT(List(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/dog")));
  ::chmod(folder_.File("dog").c_str(), 0700);
}

TEST_F(ImageFolderTest, AListingCanBeStopped) {
  folder_.Write("cat/1.jpg", "x");
  EXPECT_THAT(ListImageFolder(folder_.path(), [] { return absl::CancelledError("stop"); }),
              StatusIs(absl::StatusCode::kCancelled, "stop"));
}

}  // namespace
}  // namespace penstock
