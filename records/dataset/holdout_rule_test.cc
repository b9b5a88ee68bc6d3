#include "records/dataset/holdout_rule.h"

#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/dataset/split.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

TEST(CheckHoldoutFeatureTest, EachRecordNeedsAValue) {
  const FeatureSummary features = {100,
                                   {{"id", "int64", false, 100, {1, 1}},
                                    {"age", "int64", false, 66, {1, 1}},
                                    {"tags", "bytes", false, 100, {0, 0}},
                                    {"moves", "float", true, 100, {3, 9}, {}, {1, 1}}}};
  const auto refused = [](const std::string& why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(why));
  };
  EXPECT_OK(CheckHoldoutFeature("id", features));
  EXPECT_OK(CheckHoldoutFeature("id", {}));
  EXPECT_THAT(
      CheckHoldoutFeature("age", features),
      refused("'age' cannot decide the holdout split, because 34 of the first 100 records lack "
              "it. Choose another with --holdout-feature; there are id (int64), "));
  EXPECT_THAT(CheckHoldoutFeature("tags", features), refused("because the records lack it"));
  EXPECT_THAT(CheckHoldoutFeature("moves", features), refused("is a feature list"));
  EXPECT_THAT(CheckHoldoutFeature("ide", features),
              refused("the records lack it. Choose another with --holdout-feature; there are id"));
}

TEST(CheckHoldoutFeatureTest, OneOfSeveralAlternativesIsAValue) {
  const FeatureSummary features = {
      100,
      {{"jpg", "bytes", false, 60, {1, 1}, {9, 9}}, {"png", "bytes", false, 40, {1, 1}, {9, 9}}}};
  EXPECT_OK(CheckHoldoutFeature("jpg|jpeg|png", features));
  EXPECT_THAT(CheckHoldoutFeature("jpg|jpeg", features),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("40 of the first 100 records lack it")));
}

// Expects that the rule decides as the hash of `value` does, for thresholds on both sides of the
// hash.
void ExpectHashOf(const std::string& value, const std::string& feature, const std::string& payload,
                  std::vector<FeatureUse> specs = {}) {
  const auto hash = static_cast<uint32_t>(SplitHash(BytesOf(value)) >> 32);
  for (const uint32_t threshold : {hash, hash + 1}) {
    std::vector<FeatureUse> all = specs;
    HoldoutRule rule(feature, threshold, all);
    ASSERT_OK_AND_ASSIGN(FeatureFinder finder, FeatureFinder::Create(all));
    rule.Bind(finder);
    FoundFeatures found = finder.MakeFound();
    ASSERT_OK(finder.Find(BytesOf(payload), found));
    EXPECT_EQ(rule.InHoldout(found), threshold > hash) << feature;
  }
}

const std::string kLittleEndian300 = std::string("\x2c\x01", 2) + std::string(6, '\0');

TEST(HoldoutRuleTest, HashesValuesOfEveryType) {
  const std::string payload = Example(
      Entry("one", BytesKind("abc")) + Entry("two", Field(1, Field(1, "ab") + Field(1, "c"))) +
      Entry("ints", Int64Kind(300) + Int64Kind(300)) + Entry("f", Field(2, FloatField(1, 1.0f))));
  ExpectHashOf("abc", "one", payload);
  ExpectHashOf(
      "\x02"
      "ab\x01"
      "c",
      "two", payload);
  ExpectHashOf(kLittleEndian300 + kLittleEndian300, "ints", payload);
  ExpectHashOf(std::string("\0\0\x80\x3f", 4), "f", payload);
  ExpectHashOf(payload, "", payload);
}

TEST(HoldoutRuleTest, SharesTheFeatureThatAProgramReads) {
  const std::string payload = Example(Entry("d", BytesKind("abc")) + Entry("n", Int64Kind(300)));
  ExpectHashOf("abc", "d", payload, {{"d", FeatureType::kBytes, 3}});
  ExpectHashOf(kLittleEndian300, "n", payload, {{"n", FeatureType::kInt64, 1}});
  ExpectHashOf("abc", "d", payload, {{"d", FeatureType::kBytes, 0, VariableUse{.max_count = 9}}});
  ExpectHashOf(payload, "", payload, {{"", FeatureType::kBytes, 0, VariableUse{}}});
}

TEST(HoldoutRuleTest, TheNamesOfAlternativesDoNotCount) {
  for (const std::string name : {"jpg", "png"}) {
    const std::string payload = Example(Entry(name, BytesKind("abc")));
    ExpectHashOf("abc", "jpg|png", payload);
    ExpectHashOf("abc", "jpg|png", payload, {{"jpg|png", FeatureType::kBytes, 3}});
    ExpectHashOf("abc", "jpg|png", payload, {{name, FeatureType::kBytes, 3}});
    ExpectHashOf("abc", name, payload, {{"jpg|png", FeatureType::kBytes, 3}});
  }
}

}  // namespace
}  // namespace penstock
