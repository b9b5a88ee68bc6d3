#include "base/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io/input_file.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text, bool append) {
    ASSERT_OK_AND_ASSIGN(const auto file, OpenOutput(path, append));
    std::fputs(text.c_str(), file.get());
  }

  TempFolder folder_;
};

TEST_F(OutputFileTest, ReplacesOrAppends) {
  const std::string path = folder_.File("a");
  Write(path, "one", false);
  Write(path, "two", true);
  EXPECT_THAT(ReadInput(path, 10), IsOkAndHolds("onetwo"));
  Write(path, "x", false);
  EXPECT_THAT(ReadInput(path, 10), IsOkAndHolds("x"));
}

TEST_F(OutputFileTest, APipeThatNobodyReadsIsToldNotAwaited) {
  const std::string path = folder_.File("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(OpenOutput(path, false),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no program reads")));
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_OK(OpenOutput(path, false));
}

TEST_F(OutputFileTest, NamesAFolder) {
  EXPECT_THAT(OpenOutput(folder_.path(), false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(folder_.path())));
}

}  // namespace
}  // namespace penstock
