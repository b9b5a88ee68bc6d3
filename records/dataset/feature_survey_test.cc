#include "records/dataset/feature_survey.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "records/image/testing/grey16_png.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FeatureSurveyTest : public ::testing::Test {
 protected:
  void Add(const std::string& payload) { EXPECT_OK(survey_.Add(BytesOf(payload))); }
  std::vector<FeatureInfo> Features() const { return survey_.Summary().features; }

  FeatureSurvey survey_;
};

// A feature of `count` int64 values, packed.
std::string Ints(int count) {
  std::string run;
  for (int i = 0; i < count; ++i) run += Varint(static_cast<uint64_t>(i) << 20);
  return Field(3, Field(1, run));
}
std::string Strings(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += Field(1, value);
  return Field(1, list);
}

TEST_F(FeatureSurveyTest, CountsValuesAndLengthsOverAllRecords) {
  for (int i = 1; i <= 150; ++i) Add(Example(Entry("tokens", Ints(i))));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"tokens", "int64", false, 150, {1, 150}}));
}

TEST_F(FeatureSurveyTest, TellsAValuesBytesFromTheNumberOfValues) {
  Add(Example(Entry("names", Strings({"ab", "c"}))));
  Add(Example(Entry("names", Strings({"abcde"}))));
  Add(Example(Entry("names", Strings({}))));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"names", "bytes", false, 3, {0, 2}, {1, 5}}));
}

TEST_F(FeatureSurveyTest, ARecordHoldsImagesIfEachValueBeginsLikeOne) {
  const std::string jpeg = "\xff\xd8\xff\xe0";
  Add(Example(Entry("a", Strings({jpeg, jpeg}))));
  Add(Example(Entry("a", Strings({jpeg, "text"}))));
  Add(Example(Entry("a", Strings({"text"}))));
  Add(Example(Entry("a", Strings({}))));
  ASSERT_EQ(Features().size(), 1u);
  EXPECT_EQ(Features()[0].images, 1u);
}

TEST_F(FeatureSurveyTest, CountsRecordsWith16BitGrey) {
  std::string eight = Grey16Png();
  eight[24] = 8;
  Add(Example(Entry("a", Strings({Grey16Png(), eight}))));
  Add(Example(Entry("a", Strings({eight, eight}))));
  Add(Example(Entry("a", Strings({Grey16Png().substr(0, 25), "text"}))));
  EXPECT_THAT(Features(),
              ElementsAre(FeatureInfo{"a", "bytes", false, 3, {2, 2}, {4, 85}, {}, 2, 1}));
}

TEST_F(FeatureSurveyTest, CountsTheRecordsThatHaveAFeature) {
  Add(Example(Entry("a", Ints(1)) + Entry("b", Ints(1))));
  Add(Example(Entry("b", Ints(1))));
  Add(Example(Entry("a", "") + Entry("b", Ints(1))));  // "a" has no kind: it is missing.
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"a", "int64", false, 1, {1, 1}},
                                      FeatureInfo{"b", "int64", false, 3, {1, 1}}));
  EXPECT_EQ(survey_.Summary().records, 3u);
}

TEST_F(FeatureSurveyTest, TheLastEntryOfANameCounts) {
  Add(Example(Entry("a", Ints(1)) + Entry("b", Ints(1)) + Entry("a", Ints(3))));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"a", "int64", false, 1, {3, 3}},
                                      FeatureInfo{"b", "int64", false, 1, {1, 1}}));
}

TEST_F(FeatureSurveyTest, ListsEachTypeOfAFeature) {
  Add(Example(Entry("a", Ints(2))));
  Add(Example(Entry("a", BytesKind("text"))));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"a", "bytes", false, 1, {1, 1}, {4, 4}},
                                      FeatureInfo{"a", "int64", false, 1, {2, 2}}));
}

TEST_F(FeatureSurveyTest, FeatureListsAreMarkedAndCountSteps) {
  const std::string context = Entry("frames", Ints(1));
  Add(SequenceExample(context, ListEntry("frames", {Ints(2), Ints(2), Ints(2)})));
  Add(SequenceExample(context, ListEntry("frames", {})));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"frames", "int64", false, 2, {1, 1}},
                                      FeatureInfo{"frames", "int64", true, 2, {0, 3}, {}, {2, 2}}));
}

TEST_F(FeatureSurveyTest, NamesOnceWhatNothingReads) {
  for (int i = 0; i < 3; ++i) {
    Add(Example(Entry("a", Field(5, "x") + Ints(1))) + VarintField(3, 7) + Field(9, "more"));
  }
  EXPECT_THAT(survey_.unread(), ElementsAre("field 5 of feature 'a'", "field 3 of the record",
                                            "field 9 of the record"));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"a", "int64", false, 3, {1, 1}}));
}

TEST_F(FeatureSurveyTest, NothingOfABrokenRecordIsKept) {
  const std::string cut = Field(3, Field(1, "\x80"));
  for (const std::string& broken :
       {std::string("no example"), Example(Entry("a", Ints(1)) + Entry("b", cut)),
        SequenceExample(Entry("a", Ints(1)), ListEntry("c", {cut}))}) {
    EXPECT_THAT(survey_.Add(BytesOf(broken)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("broken at byte")));
  }
  EXPECT_EQ(survey_.records(), 0u);
  EXPECT_THAT(Features(), IsEmpty());
  Add(Example(Entry("b", Ints(1))));
  EXPECT_THAT(Features(), ElementsAre(FeatureInfo{"b", "int64", false, 1, {1, 1}}));
}

TEST_F(FeatureSurveyTest, KnowsNoMoreFeaturesThanTheLimit) {
  std::string entries;
  for (int i = 0; i < 1100; ++i) entries += Entry(absl::StrCat("f", i), Ints(1));
  Add(Example(entries));
  EXPECT_EQ(Features().size(), FeatureSurvey::kMaxFeatures);
  EXPECT_THAT(survey_.unread(), ElementsAre(HasSubstr("beyond the first 1024")));
}

TEST_F(FeatureSurveyTest, RawRecordsHaveOneFeature) {
  FeatureSurvey survey(RecordFormat::kRaw);
  EXPECT_OK(survey.Add(BytesOf(std::string("no example"))));
  EXPECT_OK(survey.Add({}));
  EXPECT_THAT(survey.Summary().features,
              ElementsAre(FeatureInfo{"record", "bytes", false, 2, {1, 1}, {0, 10}}));
}

}  // namespace
}  // namespace penstock
