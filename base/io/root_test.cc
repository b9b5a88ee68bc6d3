#include "base/io/root.h"

#include <unistd.h>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// The parameter says whether openat2 is used.
class RootTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    folder_.Write("outside", "secret");
    folder_.Write("root/inside", "data");
    folder_.Write("root/deep/er/file", "deep data");
  }
  Root OpenRoot() {
    absl::StatusOr<Root> root = Root::Open(folder_.File("root"));
    EXPECT_OK(root);
    if (!GetParam()) root->DisableOpenat2ForTesting();
    return *std::move(root);
  }
  void Link(const std::string& target, const std::string& name) {
    ASSERT_EQ(::symlink(target.c_str(), folder_.File(name).c_str()), 0);
  }
  TempFolder folder_;
};

TEST_P(RootTest, OpensFilesBeneath) {
  Root root = OpenRoot();
  ASSERT_OK_AND_ASSIGN(auto file, root.OpenFile("deep/er/file"));
  EXPECT_EQ(file->size(), 9u);
  EXPECT_EQ(file->name(), "deep/er/file");
  EXPECT_OK(root.OpenFile("inside"));
}

TEST_P(RootTest, RefusesDotDotAndAbsolutePathsByName) {
  Root root = OpenRoot();
  for (std::string path : {"../outside", "deep/../../outside", "..", "deep/..", "/etc/passwd"}) {
    EXPECT_THAT(root.OpenFile(path),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path)));
  }
}

TEST_P(RootTest, RefusesLinksThatLeadOut) {
  Root root = OpenRoot();
  Link("../outside", "root/relative");
  Link(folder_.File("outside"), "root/absolute");
  Link("..", "root/up");
  for (std::string path : {"relative", "absolute", "up/outside"}) {
    EXPECT_THAT(root.OpenFile(path),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path + ": a link")));
  }
}

TEST_P(RootTest, RefusesWhatIsNoRegularFile) {
  Root root = OpenRoot();
  EXPECT_THAT(root.OpenFile("deep"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
  EXPECT_THAT(root.OpenFile(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(root.OpenFile(absl::string_view("inside\0x", 8)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("NUL at 6")));
  EXPECT_THAT(root.OpenFile("none"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

INSTANTIATE_TEST_SUITE_P(Both, RootTest, ::testing::Bool(), [](const auto& instance) {
  return instance.param ? "Openat2" : "PartByPart";
});

TEST(RootOpenTest, FollowsLinksThatStayBeneath) {
  TempFolder folder;
  folder.Write("a/file", "data");
  ASSERT_EQ(::symlink("a/file", folder.File("link").c_str()), 0);
  ASSERT_OK_AND_ASSIGN(Root root, Root::Open(folder.path()));
  EXPECT_OK(root.OpenFile("link"));
}

TEST(RootOpenTest, NamesALoopOfLinks) {
  TempFolder folder;
  ASSERT_EQ(::symlink("b", folder.File("a").c_str()), 0);
  ASSERT_EQ(::symlink("a", folder.File("b").c_str()), 0);
  ASSERT_OK_AND_ASSIGN(const Root root, Root::Open(folder.path()));
  EXPECT_THAT(root.OpenFile("a"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("form a loop")));
}

TEST(RootOpenTest, RefusesAFile) {
  TempFolder folder;
  EXPECT_THAT(Root::Open(folder.Write("file", "x")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a folder")));
}

}  // namespace
}  // namespace penstock
