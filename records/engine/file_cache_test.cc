#include "records/engine/file_cache.h"

#include <fcntl.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/resource_limit.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

// The descriptor limit at which `more` further files can be opened.
rlim_t DescriptorsAnd(rlim_t more) {
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));  // The lowest free descriptor.
  return static_cast<rlim_t>(next.get()) + more;
}

class FileCacheTest : public ::testing::Test {
 protected:
  FileCacheTest() {
    for (int i = 0; i < 100; ++i) folder_.Write(absl::StrCat(i), "x");
  }
  TempFolder folder_;
};

TEST_F(FileCacheTest, GivesUpOldFilesWhereThereAreNoDescriptors) {
  ASSERT_OK_AND_ASSIGN(const Root root, Root::Open(folder_.path()));
  FileCache cache(root, 1000);
  const ResourceLimit few(RLIMIT_NOFILE, DescriptorsAnd(20));
  for (int i = 0; i < 100; ++i) ASSERT_OK(cache.Open(absl::StrCat(i)).status()) << i;
}

TEST_F(FileCacheTest, KeepsAsManyFilesAsItMayThoseUsedLast) {
  ASSERT_OK_AND_ASSIGN(const Root root, Root::Open(folder_.path()));
  FileCache cache(root, 2);
  std::vector<std::weak_ptr<const FileSource>> files;
  for (const char* name : {"0", "1", "0", "2"}) files.push_back(cache.Open(name).value());
  EXPECT_FALSE(files[0].expired());
  EXPECT_TRUE(files[1].expired());
  EXPECT_FALSE(files[3].expired());
  cache.Drop("0");
  EXPECT_TRUE(files[0].expired());
}

TEST_F(FileCacheTest, FilesThatAreReadStayOpen) {
  ASSERT_OK_AND_ASSIGN(const Root root, Root::Open(folder_.path()));
  FileCache cache(root, 1000);
  absl::StatusOr<std::shared_ptr<const FileSource>> file = cache.Open("0");
  absl::Status after;
  size_t open = 0;
  {  // UBSan needs descriptors for its checks.
    const ResourceLimit few(RLIMIT_NOFILE, DescriptorsAnd(20));
    std::vector<std::shared_ptr<const FileSource>> read;
    for (; file.ok() && open < 99; file = cache.Open(absl::StrCat(++open))) read.push_back(*file);
    read.clear();
    after = cache.Open("99").status();
  }
  EXPECT_GE(open, 10u);
  EXPECT_THAT(file, StatusIs(absl::StatusCode::kResourceExhausted,
                             testing::HasSubstr("Too many open files")));
  EXPECT_OK(after);
}

}  // namespace
}  // namespace penstock
