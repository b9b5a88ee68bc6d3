#include "records/dataset/feature_info.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FeatureInfo Bytes(const std::string& name, uint32_t length, uint64_t records = 100) {
  return {name, "bytes", false, records, {1, 1}, {length, length}};
}
FeatureInfo Ints(const std::string& name, uint32_t count, uint64_t records = 100) {
  return {name, "int64", false, records, {count, count}};
}
FeatureSummary Chess() { return {100, {Bytes("d", 194), Ints("s", 1)}}; }

TEST(FeatureInfoTest, KnowsChess) {
  EXPECT_TRUE(HasChessFeatures(Chess()));
  EXPECT_TRUE(HasChessFeatures({0, {Bytes("d", 194, 0), Ints("s", 1, 0)}}));  // Older manifests.
  EXPECT_FALSE(HasChessFeatures({100, {Bytes("d", 193), Ints("s", 1)}}));
  EXPECT_FALSE(HasChessFeatures({100, {Bytes("d", 194), Ints("s", 2)}}));
  EXPECT_FALSE(HasChessFeatures({100, {Bytes("d", 194), Ints("s", 1, 99)}}));
  EXPECT_FALSE(HasChessFeatures({100, {Bytes("d", 194)}}));
}

TEST(FeatureInfoTest, TheHoldoutIsDecidedByWhatTheRecordsAre) {
  EXPECT_EQ(DefaultHoldoutFeature(Chess()), "d");
  EXPECT_EQ(DefaultHoldoutFeature({100, {Bytes("image/encoded", 9), Ints("label", 1)}}),
            "image/encoded");
  EXPECT_EQ(DefaultHoldoutFeature({100, {Bytes("image/encoded", 9, 50), Ints("label", 1)}}), "");
  EXPECT_EQ(DefaultHoldoutFeature({100, {Bytes("d", 20), Ints("s", 1)}}), "");
  EXPECT_EQ(DefaultHoldoutFeature({}), "");
}

TEST(FeatureInfoTest, TheCanonicalFormFollowsNeitherOrderNorShards) {
  const FeatureInfo missing = {"z", "none", false, 5}, empty = {"steps", "none", true, 5};
  const FeatureInfo steps = {"steps", "int64", true, 10, {2, 3}, {}, {4, 4}};
  const FeatureInfo none = {"never", "none", false, 5};
  FeatureSummary one = {15, {Ints("z", 1, 10), steps, Ints("a", 1, 15)}};
  FeatureSummary other = {5, {none, missing, empty, Ints("a", 2, 5)}};
  FeatureSummary first, last;
  for (const FeatureSummary& part : {one, other}) Merge(part, first);
  for (const FeatureSummary& part : {other, one}) Merge(part, last);
  first = Canonical(first);
  EXPECT_EQ(first, Canonical(last));
  EXPECT_THAT(
      first.features,
      ElementsAre(FeatureInfo{"a", "int64", false, 20, {1, 2}}, none,
                  FeatureInfo{"steps", "int64", true, 15, {0, 3}, {}, {4, 4}}, Ints("z", 1, 10)));
}

TEST(FeatureInfoTest, MergesLengthsAndPresence) {
  FeatureSummary all = {10, {Ints("a", 3, 10)}};
  Merge({20, {Ints("a", 5, 15), Bytes("b", 7, 20)}}, all);
  EXPECT_EQ(all.records, 30u);
  EXPECT_THAT(all.features,
              ElementsAre(FeatureInfo{"a", "int64", false, 25, {3, 5}}, Bytes("b", 7, 20)));
}

TEST(FeatureInfoTest, AnEmptyListHasNoLengthToMerge) {
  FeatureSummary all = {1, {{"a", "bytes", false, 1, {0, 0}}}};
  Merge({1, {{"a", "bytes", false, 1, {2, 2}, {7, 9}}}}, all);
  EXPECT_THAT(all.features, ElementsAre(FeatureInfo{"a", "bytes", false, 2, {0, 2}, {7, 9}}));
}

TEST(FeatureInfoTest, TypesMakeAnotherDataset) {
  EXPECT_EQ(FeatureDifference({1, {Ints("x", 1, 1)}}, {1, {Bytes("x", 8, 1)}}),
            "'x' is int64 in the first and bytes in the second");
  EXPECT_EQ(FeatureDifference(Chess(), {100, {Bytes("d", 7), Ints("s", 9)}}), "");
}

TEST(FeatureInfoTest, FeaturesOfAllAndOfNoRecordsMakeAnotherDataset) {
  FeatureSummary more = Chess();
  more.features.push_back(Ints("move", 1));
  EXPECT_THAT(FeatureDifference(more, Chess()),
              AllOf(HasSubstr("'move' (int64)"), HasSubstr("not in those of the second")));
  EXPECT_THAT(FeatureDifference(Chess(), more), HasSubstr("not in those of the first"));
  more.features.back().records = 99;  // An optional feature.
  EXPECT_EQ(FeatureDifference(more, Chess()), "");
}

TEST(FeatureInfoTest, FewRecordsProveLittle) {
  const FeatureSummary has = {100, {Ints("a", 1), Ints("b", 1)}}, lacks = {2, {Ints("a", 1, 2)}};
  EXPECT_EQ(FeatureDifference(has, lacks), "");
  EXPECT_THAT(FeatureDifference(has, {2, {Ints("c", 1, 2)}}), HasSubstr("'a'"));
  EXPECT_EQ(FeatureDifference(has, {}), "");
}

TEST(FeatureInfoTest, Describes) {
  EXPECT_EQ(Describe(Bytes("d", 194), 100), "d: bytes, length 194");
  EXPECT_EQ(Describe({"t", "int64", false, 31, {1, 199}}, 100),
            "t: int64, values 1-199, in 31 of 100 records");
  EXPECT_EQ(Describe({"n", "bytes", false, 9, {0, 3}, {2, 17}}, 9),
            "n: bytes, values 0-3, length 2-17");
  EXPECT_EQ(Describe({"f", "float", true, 9, {3, 9}, {}, {4, 4}}, 9),
            "f: float, a list of 3-9 steps of 4 values");
}

}  // namespace
}  // namespace penstock
