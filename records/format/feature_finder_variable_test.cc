// Tests features of variable length, feature lists and whole payloads.
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/feature_finder.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Ints(const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) packed += Varint(static_cast<uint64_t>(value));
  return Field(3, Field(1, packed));
}

std::string Floats(const std::vector<float>& values) {
  std::string list;
  for (const float value : values) list += FloatField(1, value);
  return Field(2, list);
}

std::string Bytes(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += Field(1, value);
  return Field(1, list);
}

std::string Joined(const FoundVariable& variable) {
  std::string bytes;
  for (const std::span<const uint8_t> run : variable.runs) bytes.append(run.begin(), run.end());
  return bytes;
}

FeatureUse Use(const std::string& name, FeatureType type, VariableUse use = {}) {
  return {name, type, 0, use};
}

// A finder of one feature, and what it found last.
class One {
 public:
  explicit One(const FeatureUse& use)
      : finder_(*FeatureFinder::Create({use})), found_(finder_.MakeFound()) {}
  absl::Status Find(const std::string& payload) { return finder_.Find(BytesOf(payload), found_); }
  const FoundVariable& value() const { return found_.variable[0]; }

 private:
  FeatureFinder finder_;
  FoundFeatures found_;
};

TEST(VariableFeatureTest, FindsListsOfEveryLength) {
  One finder(Use("tokens", FeatureType::kInt64));
  CounterRng rng(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<int64_t> values(rng.Below(40));
    // Most lists have the same number of bytes, but another number of values.
    for (int64_t& value : values) value = rng.Below(2) == 0 ? 5 : 300;
    const std::string payload = Example(Entry("tokens", Ints(values)) + Entry("y", Ints({1})));
    ASSERT_OK(finder.Find(payload));
    EXPECT_TRUE(finder.value().present);
    EXPECT_EQ(finder.value().count, values.size());
    std::string packed;
    for (const int64_t value : values) packed += Varint(static_cast<uint64_t>(value));
    EXPECT_EQ(Joined(finder.value()), packed);
  }
}

TEST(VariableFeatureTest, JoinsRunsOfOneFeature) {
  One finder(Use("f", FeatureType::kFloat));
  const std::string payload = Example(Entry("f", Floats({1, 2}) + Floats({3})));
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK(finder.Find(payload));
    EXPECT_EQ(finder.value().count, 3u);
    EXPECT_EQ(Joined(finder.value()).size(), 12u);
  }
}

TEST(VariableFeatureTest, TellsAbsentFromEmpty) {
  One optional(Use("f", FeatureType::kFloat, {.optional = true}));
  One needed(Use("f", FeatureType::kFloat));
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK(optional.Find(Example(Entry("g", Floats({1})))));
    EXPECT_FALSE(optional.value().present);
    // As in TensorFlow, a feature of no kind counts as missing.
    ASSERT_OK(optional.Find(Example(Entry("f", ""))));
    EXPECT_FALSE(optional.value().present);
    ASSERT_OK(optional.Find(Example(Entry("f", Floats({})))));
    EXPECT_TRUE(optional.value().present);
    EXPECT_EQ(optional.value().count, 0u);
    ASSERT_OK(optional.Find(Example(Entry("f", Floats({7})))));
    EXPECT_EQ(optional.value().count, 1u);
    ASSERT_OK(needed.Find(Example(Entry("f", Floats({})))));
    EXPECT_THAT(needed.Find(Example(Entry("g", Floats({1})))),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("feature 'f' is missing or empty; the record has g")));
    EXPECT_THAT(needed.Find(Example(Entry("f", ""))),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("missing or empty")));
  }
}

// A holdout rule may use a feature that no spec names.
TEST(VariableFeatureTest, OnlyAFeatureOfASpecIsOneThatASpecCanLetRecordsLack) {
  One of_spec(Use("f", FeatureType::kFloat)), holdout(Use("f", FeatureType::kNone));
  const std::string payload = Example(Entry("g", Floats({1})));
  EXPECT_THAT(of_spec.Find(payload).message(), HasSubstr("`optional: true`"));
  EXPECT_THAT(holdout.Find(payload).message(), Not(HasSubstr("in the spec")));
}

TEST(VariableFeatureTest, RefusesOtherCounts) {
  const auto refused = [](FeatureUse use, const std::string& kind) {
    One finder(use);
    return std::string(finder.Find(Example(Entry("x", kind))).message());
  };
  EXPECT_EQ(refused(Use("x", FeatureType::kInt64, {.max_count = 2}), Ints({1, 2, 3})),
            "feature 'x' has 3 values, but the spec takes at most 2 (`truncate: true` cuts the "
            "rest)");
  EXPECT_EQ(refused(Use("x", FeatureType::kInt64, {.min_count = 2}), Ints({1})),
            "feature 'x' has 1 values, but the spec expects at least 2");
  EXPECT_EQ(refused(Use("x", FeatureType::kFloat, {.min_count = 2, .max_count = 2}), Floats({1})),
            "feature 'x' has 1 values, but the spec expects 2. To accept any number, use `pad` or "
            "`ragged` (number, bytes) in the spec");
  EXPECT_EQ(refused(Use("x", FeatureType::kFloat, {.multiple = 3}), Floats({1, 2, 3, 4})),
            "feature 'x' has 4 values, but the spec expects a multiple of 3");
  EXPECT_EQ(refused(Use("x", FeatureType::kBytes), Bytes({"a", "b"})),
            "feature 'x' has 2 values, but the spec expects 1. To accept several, use `list` "
            "(bytes) in the spec");
  EXPECT_EQ(refused(Use("x", FeatureType::kBytes, {.max_count = 3}), Bytes({"abcd"})),
            "feature 'x' has 4 bytes, but the spec takes at most 3 (`truncate: true` cuts the "
            "rest)");
  EXPECT_EQ(
      refused(Use("x", FeatureType::kBytes, {.list = true, .max_bytes = 3}),
              Bytes({"abc", "abcd"})),
      "a value of feature 'x' has 4 bytes, but the spec takes at most 3 (`truncate: true` cuts the "
      "rest)");
  EXPECT_EQ(refused(Use("x", FeatureType::kBytes), Ints({1})),
            "feature 'x' holds int64, but the spec expects bytes");
}

TEST(VariableFeatureTest, ARememberedLayoutDoesNotHideATooLongList) {
  One finder(Use("x", FeatureType::kInt64, {.max_count = 2}));
  ASSERT_OK(finder.Find(Example(Entry("x", Ints({300, 300})))));
  // The same number of bytes, each of which ends a varint.
  EXPECT_THAT(finder.Find(Example(Entry("x", Ints({1, 1, 1, 1})))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 4 values")));
}

TEST(VariableFeatureTest, RefusesVarintsThatAreNone) {
  for (const std::string& run : {std::string("\x80"), std::string(10, '\xff') + "\x01"}) {
    One finder(Use("x", FeatureType::kInt64));
    const std::string payload = Example(Entry("x", Field(3, Field(1, run))));
    EXPECT_THAT(finder.Find(payload),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no tf.train.Example")));
  }
}

TEST(VariableFeatureTest, FindsValuesOfAnyType) {
  One finder(Use("k", FeatureType::kNone, {.list = true, .min_count = 1}));
  ASSERT_OK(finder.Find(Example(Entry("k", Ints({1, 2})))));
  EXPECT_EQ(finder.value().type, FeatureType::kInt64);
  ASSERT_OK(finder.Find(Example(Entry("k", Bytes({"a", "bc"})))));
  EXPECT_EQ(finder.value().type, FeatureType::kBytes);
  EXPECT_EQ(finder.value().runs.size(), 2u);
  EXPECT_THAT(finder.Find(Example(Entry("k", Floats({})))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 1")));
}

TEST(VariableFeatureTest, AFeatureOfAnyTypeMayBeReadTwice) {
  ASSERT_OK_AND_ASSIGN(FeatureFinder finder, FeatureFinder::Create({{"k", FeatureType::kInt64, 1},
                                                                    Use("k", FeatureType::kNone)}));
  FoundFeatures found = finder.MakeFound();
  const std::string payload = Example(Entry("k", Ints({9})));
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK(finder.Find(BytesOf(payload), found));
    EXPECT_EQ(found.ints[0], 9);
    EXPECT_EQ(found.variable[0].count, 1u);
  }
}

TEST(SequenceTest, FindsContextAndLists) {
  ASSERT_OK_AND_ASSIGN(
      FeatureFinder finder,
      FeatureFinder::Create({{"label", FeatureType::kInt64, 1},
                             Use("label", FeatureType::kFloat, {.sequence = true, .multiple = 2}),
                             Use("words", FeatureType::kBytes, {.sequence = true, .list = true})}));
  FoundFeatures found = finder.MakeFound();
  const std::string payload = SequenceExample(
      Entry("label", Ints({4})), ListEntry("words", {Bytes({"a"}), Bytes({"bcd"})}) +
                                     ListEntry("label", {Floats({1, 2}), Floats({3, 4})}));
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK(finder.Find(BytesOf(payload), found));
    EXPECT_EQ(found.ints[0], 4);
    EXPECT_EQ(found.variable[0].count, 4u);
    EXPECT_EQ(found.variable[1].count, 2u);
    EXPECT_EQ(Joined(found.variable[1]), "abcd");
  }
}

TEST(SequenceTest, NamesTheStepThatIsWrong) {
  const FeatureUse use =
      Use("x", FeatureType::kFloat, {.sequence = true, .max_count = 4, .multiple = 2});
  const std::pair<std::string, std::string> cases[] = {
      {ListEntry("x", {Floats({1, 2}), Floats({3})}),
       "step 1 of feature list 'x' has 1 values, but the spec expects 2"},
      {ListEntry("x", {Floats({1, 2}), ""}),
       "step 1 of feature list 'x' has 0 values, but the spec expects 2"},
      {ListEntry("x", {Ints({1, 2})}), "feature 'x' holds int64, but the spec expects float"},
      {ListEntry("x", {Floats({1, 2}), Floats({1, 2}), Floats({1, 2})}),
       "feature 'x' has 6 values, but the spec takes at most 4"},
      {ListEntry("y", {Floats({1, 2})}), "feature list 'x' is missing or empty; the record has y"}};
  for (const auto& [lists, message] : cases) {
    One finder(use);
    EXPECT_THAT(finder.Find(SequenceExample("", lists)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(SequenceTest, TellsAFeatureFromAFeatureListOfThatName) {
  One list(Use("x", FeatureType::kFloat, {.sequence = true}));
  EXPECT_THAT(
      list.Find(Example(Entry("x", Floats({1})))).message(),
      HasSubstr("the record has none, and a feature 'x'; to read it, use `feature` in the spec"));
  One feature(Use("x", FeatureType::kFloat));
  const std::string payload = SequenceExample("", ListEntry("x", {Floats({1})}));
  EXPECT_THAT(feature.Find(payload).message(),
              HasSubstr("and a feature list 'x'; to read it, use `feature_list` in the spec"));
}

TEST(SequenceTest, ReportsEveryCut) {
  One finder(Use("x", FeatureType::kFloat, {.sequence = true, .multiple = 2}));
  const std::string payload = SequenceExample("", ListEntry("x", {Floats({1, 2}), Floats({3, 4})}));
  // Two bytes are a complete, empty context.
  for (size_t size = 3; size < payload.size(); ++size) {
    EXPECT_THAT(finder.Find(payload.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("Example")))
        << size;
  }
  ASSERT_OK(finder.Find(payload));
}

TEST(PayloadTest, HasANameInErrors) {
  One finder({"", FeatureType::kBytes, 4});
  EXPECT_THAT(
      finder.Find("12345678").message(),
      HasSubstr("feature 'record' has 8 bytes, but the spec expects 4. To accept any length, "
                "use `pad`"));
}

TEST(PayloadTest, IsAnyBytes) {
  One finder(Use("", FeatureType::kBytes, {.max_count = 100}));
  for (const std::string& payload :
       {std::string(), std::string("\xff\xff"), std::string(80, 'x')}) {
    for (int again = 0; again < 2; ++again) {
      ASSERT_OK(finder.Find(payload));
      EXPECT_TRUE(finder.value().present);
      EXPECT_EQ(Joined(finder.value()), payload);
    }
  }
  EXPECT_THAT(finder.Find(std::string(101, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 100")));
}

}  // namespace
}  // namespace penstock
