#include "cli/pack/json_features.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/testing/for_each_feature.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class JsonFeaturesTest : public ::testing::Test {
 protected:
  // Returns "NAME:TYPE VALUE VALUE; " for each feature.
  absl::StatusOr<std::string> Read(const std::string& line) {
    JsonFeatures features(columns_);
    if (absl::Status status = features.Read(line); !status.ok()) return status;
    std::string text;
    const auto add = [&text](const FeatureView& feature) {
      absl::StrAppend(&text, feature.name, ":", FeatureTypeName(feature.type));
      for (const int64_t value : feature.ints) absl::StrAppend(&text, " ", value);
      for (const float value : feature.floats) absl::StrAppend(&text, " ", value);
      for (const auto value : feature.bytes) {
        absl::StrAppend(&text, " ", std::string(value.begin(), value.end()));
      }
      absl::StrAppend(&text, ";");
    };
    if (absl::Status status = ForEachFeature(features.Serialize(), add); !status.ok())
      return status;
    return text;
  }
  void Survey(const std::vector<std::string>& lines) {
    JsonSurvey survey(columns_);
    for (const std::string& line : lines) survey.Add(line);
    survey.Finish();
  }

  Columns columns_ = Columns::Parse("").value();
};

TEST_F(JsonFeaturesTest, ReadsEachKindOfValue) {
  EXPECT_THAT(Read(R"({"i": -3, "f": 0.5, "s": "a\u00e9", "t": true})"),
              IsOkAndHolds("i:int64 -3;f:float 0.5;s:bytes a\xc3\xa9;t:int64 1;"));
  EXPECT_THAT(Read(R"({"is": [1, 2], "fs": [1, 0.5], "ss": ["a", ""], "ts": [true, false]})"),
              IsOkAndHolds("is:int64 1 2;fs:float 1 0.5;ss:bytes a ;ts:int64 1 0;"));
  EXPECT_THAT(Read("{}"), IsOkAndHolds(""));
}

TEST_F(JsonFeaturesTest, NullAndEmptyArraysAreAbsent) {
  EXPECT_THAT(Read(R"({"a": null, "b": [], "c": 1})"), IsOkAndHolds("c:int64 1;"));
}

TEST_F(JsonFeaturesTest, TheTypeOfAKeyHolds) {
  Survey({R"({"x": 1, "y": 2})", "no json", R"({"x": 0.5, "z": null})"});
  EXPECT_EQ(columns_.Text(), "x:float,y:int64,z");
  EXPECT_THAT(Read(R"({"x": 1, "y": 2, "z": "text"})"),
              IsOkAndHolds("x:float 1;y:int64 2;z:bytes text;"));
  EXPECT_THAT(Read(R"({"y": 2.5})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("key 'y': 2.5 cannot be stored as int64; choose")));
  EXPECT_THAT(Read(R"({"z": 7})"), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("7 cannot be stored as bytes")));
}

TEST_F(JsonFeaturesTest, ChosenColumnsAreAllThatIsRead) {
  columns_ = Columns::Parse("x:float,s").value();
  Survey({R"({"x": 1, "s": "a", "other": {}})"});
  EXPECT_EQ(columns_.Text(), "x:float,s:bytes");
  EXPECT_THAT(Read(R"({"x": 1, "s": "a", "other": {}})"), IsOkAndHolds("x:float 1;s:bytes a;"));
}

TEST_F(JsonFeaturesTest, NumbersAreExactOrRefused) {
  EXPECT_THAT(Read(R"({"i": 9223372036854775807})"), IsOkAndHolds("i:int64 9223372036854775807;"));
  EXPECT_THAT(Read(R"({"i": 9223372036854775808})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be stored as int64")));
  EXPECT_THAT(Read(R"({"f": 1e39})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be stored as float")));
}

TEST_F(JsonFeaturesTest, RefusesWhatIsNoFeature) {
  for (const auto& [line, why] :
       {std::pair{R"({"a": {"b": 1}})", "key 'a': an object cannot be stored"},
        std::pair{R"({"a": [[1]]})", "an array with arrays cannot be stored"},
        std::pair{R"({"a": [null]})", "an array with nulls cannot be stored"},
        std::pair{R"({"a": [1, "b"]})", "the array mixes text and numbers"},
        std::pair{R"({"": 1})", "a feature needs a name"},
        std::pair{R"([1])", "must be a JSON object, not array"},
        std::pair{R"({"a": 1)", "not valid JSON"}, std::pair{"{\"a\": \"\xff\"}", "not valid JSON"},
        std::pair{"", "not valid JSON"}}) {
    EXPECT_THAT(Read(line), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why))) << line;
  }
}

TEST_F(JsonFeaturesTest, ManyKeysKeepTheirOrder) {
  std::string line = "{\"z\": 0";
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&line, ", \"k", i, "\": ", i);
  ASSERT_OK(JsonFeatures(columns_).Read(line + ", \"z\": 7}"));
  EXPECT_EQ(columns_.all().size(), 20'001u);
  EXPECT_EQ(columns_.all()[0].name, "z");
  EXPECT_EQ(columns_.all()[20'000].name, "k19999");
}

TEST_F(JsonFeaturesTest, DepthIsNoDanger) {
  const std::string deep(100'000, '[');
  EXPECT_THAT(Read("{\"a\": " + deep),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not valid JSON")));
  EXPECT_THAT(Read("{\"a\": " + deep + std::string(100'000, ']') + "}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an array with arrays")));
}

}  // namespace
}  // namespace penstock
