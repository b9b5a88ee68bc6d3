#include "cli/launch/rank_files.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(RankFilesTest, EachRankHasItsOwnWithNamesThatSort) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(RankFiles files, RankFiles::Create(folder.File("new"), 11));
  files.Write(10, false, "hello");
  files.Write(3, true, "trouble");
  files.Write(3, true, "more");
  EXPECT_OK(files.Flush());
  EXPECT_EQ(folder.Read("new/rank.10/stdout"), "hello\n");
  EXPECT_EQ(folder.Read("new/rank.03/stderr"), "trouble\nmore\n");
  EXPECT_EQ(folder.Read("new/rank.03/stdout"), "");
}

TEST(RankFilesTest, AFolderThatCannotBeIsNamed) {
  const absl::Status status = RankFiles::Create("/dev/null/x", 2).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/null/x/rank.0/stdout"));
}

TEST(RankFilesTest, AFullDiskIsToldAtTheEnd) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.File("rank.0"));
  std::filesystem::create_symlink("/dev/full", folder.File("rank.0/stdout"));
  ASSERT_OK_AND_ASSIGN(RankFiles files, RankFiles::Create(folder.path(), 1));
  files.Write(0, false, "lost");
  EXPECT_THAT(files.Flush(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rank.0/stdout")));
}

}  // namespace
}  // namespace penstock
