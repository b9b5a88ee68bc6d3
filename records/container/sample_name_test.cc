#include "records/container/sample_name.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

// "key|extension", or "none" for nullopt.
std::string Split(absl::string_view path) {
  const std::optional<SampleName> name = SplitSampleName(path);
  return name ? absl::StrCat(name->key, "|", name->extension) : "none";
}

TEST(SampleNameTest, SplitsAtTheFirstDotOfTheFilesName) {
  EXPECT_EQ(Split("a.jpg"), "a|jpg");
  EXPECT_EQ(Split("a.seg.png"), "a|seg.png");
  EXPECT_EQ(Split("train.v2/x y.JPG"), "train.v2/x y|JPG");
  EXPECT_EQ(Split("./a.cls"), "./a|cls");
  EXPECT_EQ(Split("/a.cls"), "/a|cls");
  EXPECT_EQ(Split("a..b"), "a|.b");
}

TEST(SampleNameTest, NamesWithoutAnExtensionAreNoPart) {
  for (const char* path : {"", "README", "a.b/README", "a.", "a.b/c.", "/"}) {
    EXPECT_EQ(Split(path), "none") << path;
  }
}

TEST(SampleNameTest, HiddenFilesAreNoPart) {
  for (const char* path : {".DS_Store", "._a.jpg", "./._a.jpg", "a/.b.jpg", "a/..b", ".."}) {
    EXPECT_EQ(Split(path), "none") << path;
  }
}

TEST(SampleNameTest, MetaFilesAreNoPart) {
  for (const char* path : {"__info.json__", "__meta__/a.jpg", "____/a.jpg", "__a__b__/c.jpg"}) {
    EXPECT_EQ(Split(path), "none") << path;
  }
  EXPECT_EQ(Split("___/a.jpg"), "___/a|jpg");
  EXPECT_EQ(Split("__a.jpg"), "__a|jpg");
  EXPECT_EQ(Split("a/__meta__/b.jpg"), "a/__meta__/b|jpg");
}

}  // namespace
}  // namespace penstock
