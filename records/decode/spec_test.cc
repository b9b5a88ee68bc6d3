#include "records/decode/spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string WriteFile(const std::string& name, const std::string& text) {
  static const TempFolder folder;
  return folder.Write(name, text);
}

TEST(LoadSpecTest, KnowsChess) {
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
  ASSERT_EQ(spec.tensor_size(), 3);
  EXPECT_EQ(spec.tensor(0).name(), "planes");
  EXPECT_EQ(spec.tensor(1).name(), "flags");
  EXPECT_EQ(spec.tensor(2).mate_score().k(), 400);
}

TEST(LoadSpecTest, ReadsAFile) {
  const std::string path =
      WriteFile("label.textproto", "tensor { name: 'y' label { feature: 'l' } }");
  ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec(path));
  EXPECT_EQ(spec.tensor(0).label().feature(), "l");
}

TEST(LoadSpecTest, NamesTheValuesOfAnEnumeration) {
  const auto parse = [](const char* field) {
    return ParseSpec(absl::StrCat("tensor { name: 'x' number { feature: 'd' ", field, " } }"),
                     "here");
  };
  EXPECT_THAT(parse("as: I9"), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("here:1:"), HasSubstr("; it is one of "),
                                              HasSubstr("I32"), HasSubstr("BF16"))));
  EXPECT_THAT(parse("kind: I9"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr("kind"), Not(HasSubstr("one of")))));
}

TEST(LoadSpecTest, ReportsFileLineAndColumnOfAMistake) {
  const std::string path = WriteFile("bad.textproto", "tensor {\n  name: 'y'\n  lable { }\n}\n");
  EXPECT_THAT(LoadSpec(path), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr(absl::StrCat(path, ":3:9: "))));
}

TEST(LoadSpecTest, NamesWhatIsBuiltInWhenNothingIsFound) {
  EXPECT_THAT(
      LoadSpec("ches"),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("neither built in (chess, images-eval, images-train) nor a file")));
}

TEST(LoadSpecTest, RefusesAFolder) { EXPECT_THAT(LoadSpec(::testing::TempDir()), Not(IsOk())); }

TEST(LoadSpecTest, RefusesAFileOverTheLimit) {
  const std::string path = WriteFile("large.textproto", std::string((1 << 20) + 1, ' '));
  EXPECT_THAT(LoadSpec(path),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1048576 bytes")));
}

TEST(ParseSpecTest, TakesAnEmptyText) { EXPECT_THAT(ParseSpec("", "here"), IsOk()); }

TEST(ParseSpecTest, SurvivesATextCutAnywhere) {
  const std::string text = "tensor { name: 'n' bits { feature: 'd' dims: [2, 3] } }";
  for (size_t n = 1; n < text.size(); ++n) {
    const absl::StatusOr<v1::DecodeSpec> spec = ParseSpec(text.substr(0, n), "here");
    EXPECT_THAT(spec, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("here:1:"))) << n;
  }
}

TEST(ParseSpecTest, RefusesDeepNesting) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "tensor {";
  EXPECT_THAT(ParseSpec(text, "here"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("here:1:")));
}

}  // namespace
}  // namespace penstock
