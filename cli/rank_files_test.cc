#include "cli/rank_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using testing::HasSubstr;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(RankFilesTest, EachRankHasItsOwnWithNamesThatSort) {
  const std::string folder = absl::StrCat(testing::TempDir(), "rank_files_test");
  std::filesystem::remove_all(folder);
  ASSERT_OK_AND_ASSIGN(RankFiles files, RankFiles::Create(folder, 11));
  files.Write(10, false, "hello");
  files.Write(3, true, "trouble");
  files.Write(3, true, "more");
  EXPECT_OK(files.Flush());
  EXPECT_EQ(Read(folder + "/rank.10/stdout"), "hello\n");
  EXPECT_EQ(Read(folder + "/rank.03/stderr"), "trouble\nmore\n");
  EXPECT_EQ(Read(folder + "/rank.03/stdout"), "");
}

TEST(RankFilesTest, AFolderThatCannotBeIsNamed) {
  const absl::Status status = RankFiles::Create("/dev/null/x", 2).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/null/x/rank.0/stdout"));
}

TEST(RankFilesTest, AFullDiskIsToldAtTheEnd) {
  const std::string folder = absl::StrCat(testing::TempDir(), "rank_files_full");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/rank.0");
  std::filesystem::create_symlink("/dev/full", folder + "/rank.0/stdout");
  ASSERT_OK_AND_ASSIGN(RankFiles files, RankFiles::Create(folder, 1));
  files.Write(0, false, "lost");
  EXPECT_THAT(files.Flush(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rank.0/stdout")));
}

}  // namespace
}  // namespace penstock
