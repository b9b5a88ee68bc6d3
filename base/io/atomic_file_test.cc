#include "base/io/atomic_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/bytes_of.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(AtomicFileTest, NothingStandsUnderTheNameBeforeCommit) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("out")));
  EXPECT_OK(file.Write(BytesOf("hello")));
  EXPECT_EQ(::access(folder.File("out").c_str(), F_OK), -1);
  EXPECT_OK(file.Commit());
  EXPECT_EQ(folder.Read("out"), "hello");
  EXPECT_EQ(folder.NumEntries(), 1u);
}

TEST(AtomicFileTest, DestructionLeavesTheOldFileWhole) {
  TempFolder folder;
  folder.Write("out", "old");
  {
    ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("out")));
    EXPECT_OK(file.Write(BytesOf("new")));
  }
  EXPECT_EQ(folder.Read("out"), "old");
  EXPECT_EQ(folder.NumEntries(), 1u);
}

TEST(AtomicFileTest, AFailedWriteLeavesTheOldFileWhole) {
  TempFolder folder;
  folder.Write("out", "old");
  // Simulates a full disk: write() fails beyond the limit.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  absl::Status status = WriteFileAtomically(folder.File("out"), BytesOf(std::string(1000, 'x')));
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("out: write"));
  EXPECT_EQ(folder.Read("out"), "old");
  EXPECT_EQ(folder.NumEntries(), 1u);
}

TEST(AtomicFileTest, NamesAMissingFolder) {
  EXPECT_THAT(AtomicFile::Create("/nonexistent-folder/x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nonexistent-folder/x")));
}

TEST(AtomicFileTest, ReplacesNothingButFiles) {
  TempFolder folder;
  const std::string pipe = folder.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder.path(), std::string("/dev/null")}) {
    EXPECT_THAT(AtomicFile::Create(path),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  }
  EXPECT_EQ(folder.NumEntries(), 1u);
}

TEST(AtomicFileTest, OnlyItsOwnTemporaryNamesAreUnfinishedFiles) {
  EXPECT_EQ(UnfinishedFileName(".a.ckpt.tmp-12-0"), "a.ckpt");
  for (const char* name : {"a.ckpt.tmp-12-0", ".a.ckpt", "a.ckpt", ""}) {
    EXPECT_EQ(UnfinishedFileName(name), "") << name;
  }
}

TEST(AtomicFileTest, AMovedFileIsWrittenAsBefore) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("out")));
  ASSERT_OK_AND_ASSIGN(AtomicFile other, AtomicFile::Create(folder.File("other")));
  EXPECT_OK(file.Write(BytesOf("hello")));
  other = std::move(file);
  EXPECT_OK(other.Write(BytesOf(" again")));
  EXPECT_OK(other.Commit());
  EXPECT_EQ(folder.Read("out"), "hello again");
  EXPECT_EQ(folder.NumEntries(), 1u);
}

TEST(AtomicFileTest, MovedFromFilesRemoveNothing) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(AtomicFile file, AtomicFile::Create(folder.File("out")));
  AtomicFile moved = std::move(file);
  EXPECT_OK(moved.Write(BytesOf("x")));
  EXPECT_OK(moved.Commit());
  EXPECT_EQ(folder.Read("out"), "x");
}

}  // namespace
}  // namespace penstock
