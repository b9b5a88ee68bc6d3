#include "base/io/file_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FileSourceTest, ReadsARange) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(auto source, FileSource::Open(folder.Write("a", "hello world")));
  std::vector<uint8_t> out(5);
  EXPECT_OK(source->ReadAt(6, out));
  EXPECT_EQ(std::string(out.begin(), out.end()), "world");
  EXPECT_EQ(source->size(), 11u);
}

TEST(FileSourceTest, NamesTheFileThatWasCutWhileOpen) {
  TempFolder folder;
  std::string path = folder.Write("shard", std::string(1000, 'x'));
  ASSERT_OK_AND_ASSIGN(auto source, FileSource::Open(path));
  ASSERT_EQ(::truncate(path.c_str(), 600), 0);
  std::vector<uint8_t> out(500);
  EXPECT_THAT(source->ReadAt(500, out),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path), HasSubstr("500 to 1000"), HasSubstr("600 bytes"),
                             HasSubstr("index it again"))));
}

TEST(FileSourceTest, IdentityChangesWithSizeAndTime) {
  TempFolder folder;
  ASSERT_OK_AND_ASSIGN(auto before, FileSource::Open(folder.Write("a", "one")));
  ASSERT_OK_AND_ASSIGN(auto after, FileSource::Open(folder.Write("a", "three")));
  EXPECT_EQ(before->identity().size, 3u);
  EXPECT_EQ(after->identity().size, 5u);
  EXPECT_LE(before->identity().modified_ns, after->identity().modified_ns);
}

TEST(FileSourceTest, RefusesFoldersPipesAndMissingFiles) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(FileSource::Open(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
  EXPECT_THAT(FileSource::Open(folder.File("pipe")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
  EXPECT_THAT(FileSource::Open(folder.File("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace penstock
