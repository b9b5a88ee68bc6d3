#include "records/dataset/class_names.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ClassNamesTest, AreReadAsTheyWereWritten) {
  TempFolder folder;
  const std::vector<std::string> names = {"cat", "great white shark", "", "\xff not UTF-8"};
  const std::string path = folder.Write("classes.txt", ClassNamesText(names));
  EXPECT_THAT(ReadClassNames(path), IsOkAndHolds(names));
}

TEST(ClassNamesTest, FilesOfOtherSystemsAreRead) {
  TempFolder folder;
  EXPECT_THAT(ReadClassNames(folder.Write("crlf", "cat\r\ndog\r\n")),
              IsOkAndHolds(ElementsAre("cat", "dog")));
  EXPECT_THAT(ReadClassNames(folder.Write("no_end", "cat\ndog")),
              IsOkAndHolds(ElementsAre("cat", "dog")));
  EXPECT_THAT(ReadClassNames(folder.Write("blank", "cat\n\ndog\n\n\r\n")),
              IsOkAndHolds(ElementsAre("cat", "", "dog")));
}

TEST(ClassNamesTest, AFileWithoutNamesOrWithOneTwiceIsRefused) {
  TempFolder folder;
  EXPECT_THAT(ReadClassNames(folder.Write("empty", "\n")),
              StatusIs(kInvalid, HasSubstr("empty: has no class names")));
  EXPECT_THAT(ReadClassNames(folder.Write("twice", "a\nb\n\n\na\n")),
              StatusIs(kInvalid, HasSubstr("classes 0 and 4 have the same name, 'a'")));
}

TEST(ClassNamesTest, LineBreaksAndLongNamesAreRefused) {
  EXPECT_THAT(CheckClassNames(std::vector<std::string>{"cat", "a\nb"}),
              StatusIs(kInvalid, HasSubstr("class 1 has a line break")));
  EXPECT_THAT(CheckClassNames(std::vector<std::string>{"a\r"}),
              StatusIs(kInvalid, HasSubstr("class 0 has a line break")));
  EXPECT_THAT(CheckClassNames(std::vector<std::string>{std::string(4097, 'x')}),
              StatusIs(kInvalid, HasSubstr("4097 bytes")));
  EXPECT_OK(CheckClassNames(std::vector<std::string>{std::string(4096, 'x')}));
}

TEST(ClassNamesTest, TheirNumberAndBytesAreBounded) {
  EXPECT_OK(CheckClassNames(std::vector<std::string>(kMaxClassNames)));
  EXPECT_THAT(CheckClassNames(std::vector<std::string>(kMaxClassNames + 1)),
              StatusIs(kInvalid, HasSubstr("1048577 class names are more than 1048576")));
  EXPECT_THAT(CheckClassNames(std::vector<std::string>(4096, std::string(4096, 'x'))),
              StatusIs(kInvalid, HasSubstr("at most 16777216")));
}

TEST(ClassNamesTest, ErrorsNameTheFile) {
  TempFolder folder;
  const std::string path = folder.Write("classes.txt", std::string(5000, 'x'));
  EXPECT_THAT(ReadClassNames(path),
              StatusIs(kInvalid, AllOf(HasSubstr(path), HasSubstr("rename the file"))));
}

TEST(ClassNamesTest, AreFoundBesideShards) {
  TempFolder folder;
  folder.Write("train/classes.txt", "cat\ndog\n");
  folder.Write("classes.txt", "above\n");
  const std::vector<std::string> files = {folder.File("train/a"), folder.File("val/a")};
  EXPECT_THAT(ClassNamesBeside(files), IsOkAndHolds(ElementsAre("cat", "dog")));
  folder.Write("val/classes.txt", "cat\ndog\n");
  EXPECT_THAT(ClassNamesBeside(files), IsOkAndHolds(ElementsAre("cat", "dog")));
  EXPECT_THAT(ClassNamesBeside(std::vector<std::string>{folder.File("test/a")}),
              IsOkAndHolds(IsEmpty()));
}

TEST(ClassNamesTest, FoldersOfOtherClassesAreNotOneDataset) {
  TempFolder folder;
  folder.Write("train/classes.txt", "cat\ncow\ndog\n");
  folder.Write("val/classes.txt", "cat\ndog\n");
  EXPECT_THAT(
      ClassNamesBeside(std::vector<std::string>{folder.File("train/a"), folder.File("val/a")}),
      StatusIs(kInvalid, AllOf(HasSubstr("train/classes.txt and "),
                               HasSubstr("class 1 is 'cow' in the first and 'dog'"))));
}

}  // namespace
}  // namespace penstock
