#include "base/flags/path_flags.h"

#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/flags/json_flag.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class PathFlagsTest : public ::testing::Test {
 protected:
  size_t NumFiles() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  TempFolder folder_;
  const std::string nowhere_ = folder_.File("none/out");
};

TEST_F(PathFlagsTest, NamesTheOptionOfAPathThatIsNotThere) {
  EXPECT_THAT(
      CheckExists("--resume", nowhere_, "give another"),
      StatusIs(absl::StatusCode::kNotFound,
               absl::StrCat("--resume: ", nowhere_, ": No such file or directory; give another")));
  EXPECT_OK(CheckExists("--resume", folder_.path(), "give another"));
}

TEST_F(PathFlagsTest, APathBelowAFileIsNotThereEither) {
  const std::string file = folder_.Write("file", "x");
  EXPECT_THAT(CheckExists("--resume", file + "/more", "give another"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("Not a directory; give another")));
}

TEST_F(PathFlagsTest, NamesTheOptionOfAFileThatCannotBeWritten) {
  EXPECT_THAT(CheckWritable("-o", nowhere_),
              StatusIs(absl::StatusCode::kNotFound,
                       absl::StrCat("-o: ", nowhere_,
                                    ": No such file or directory; make its folder first, or give "
                                    "another path")));
}

TEST_F(PathFlagsTest, TryingAFileChangesNothing) {
  const std::string file = folder_.Write("file", "old");
  EXPECT_OK(CheckWritable("-o", file));
  EXPECT_OK(CheckWritable("-o", folder_.File("new")));
  EXPECT_EQ(std::filesystem::file_size(file), 3u);
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(PathFlagsTest, AFolderMayBeMadeWhereItsNearestFolderAllowsIt) {
  EXPECT_OK(CheckFolderWritable("-o", folder_.File("a/b/c")));
  EXPECT_OK(CheckFolderWritable("-o", "made-here"));
  EXPECT_EQ(NumFiles(), 0u);
  const std::string file = folder_.Write("file", "x");
  EXPECT_THAT(CheckFolderWritable("-o", file + "/deeper"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("-o: ", file, ": is not a folder; give another path")));
}

TEST_F(PathFlagsTest, JsonIsTriedBeforeThereIsAny) {
  EXPECT_OK(CheckJsonFlag(""));
  EXPECT_OK(CheckJsonFlag("-"));
  EXPECT_OK(CheckJsonFlag(folder_.Write("old.json", "{}")));
  EXPECT_THAT(CheckJsonFlag(folder_.Write("data", "a dataset")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("is not JSON")));
  EXPECT_THAT(CheckJsonFlag(nowhere_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--json: " + nowhere_)));
  EXPECT_THAT(WriteJson(nowhere_, "{}"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--json: " + nowhere_)));
  EXPECT_EQ(NumFiles(), 2u);
}

}  // namespace
}  // namespace penstock
