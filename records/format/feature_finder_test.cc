#include "records/format/feature_finder.h"

#include <string>

#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "gtest/gtest.h"
#include "records/format/testing/shard_builder.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

class FeatureFinderTest : public ::testing::Test {
 protected:
  FeatureFinderTest()
      : finder_(*FeatureFinder::Create(
            {{"d", FeatureType::kBytes, 194}, {"s", FeatureType::kInt64, 1}})),
        found_(finder_.MakeFound()) {}

  absl::Status Find(const std::string& payload) { return finder_.Find(BytesOf(payload), found_); }
  std::string FoundBoard() { return {found_.bytes[0].begin(), found_.bytes[0].end()}; }

  FeatureFinder finder_;
  FoundFeatures found_;
};

const std::string kBoard(194, 'b');

TEST_F(FeatureFinderTest, FindsBoardAndScoreOfManyRecords) {
  CounterRng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const auto score = static_cast<int64_t>(rng.Next()) >> rng.Below(64);
    std::string payload = ChessExample(rng.Next(), score);
    ASSERT_OK(Find(payload));
    EXPECT_EQ(found_.ints[0], score);
    EXPECT_EQ(FoundBoard(), payload.substr(payload.find("\xc2\x01") + 2, 194));
  }
}

TEST_F(FeatureFinderTest, ARememberedLayoutDoesNotHideADifference) {
  // All payloads have the same size. They differ only in names, tags and lengths.
  std::string good = Example(Entry("d", BytesKind(kBoard)) + Entry("s", Int64Kind(5)));
  ASSERT_OK(Find(good));
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    FeatureFinder fresh = *FeatureFinder::Create(finder_.specs());
    FoundFeatures expected = fresh.MakeFound();
    absl::Status status = fresh.Find(BytesOf(flipped), expected);
    ASSERT_OK(Find(good));
    EXPECT_EQ(Find(flipped), status);
    if (!status.ok()) continue;
    EXPECT_EQ(found_.ints, expected.ints);
    EXPECT_EQ(found_.bytes[0].data(), expected.bytes[0].data());
    EXPECT_EQ(found_.bytes[0].size(), expected.bytes[0].size());
  }
}

TEST_F(FeatureFinderTest, ReadsFeaturesInEitherOrderAmongOthers) {
  std::string d = Entry("d", BytesKind(kBoard)), s = Entry("s", Int64Kind(-7));
  std::string other = Entry("fen", BytesKind("8/8")) + Entry("e", Int64Kind(3));
  for (std::string payload : {Example(d + s), Example(s + d), Example(other + s + other + d),
                              Example(d) + Example(s), Example(d + s + other)}) {
    for (int again = 0; again < 2; ++again) {
      ASSERT_OK(Find(payload));
      EXPECT_EQ(found_.ints[0], -7);
      EXPECT_EQ(FoundBoard(), kBoard);
    }
  }
}

TEST_F(FeatureFinderTest, TheLastEntryOfANameCounts) {
  std::string payload = Example(Entry("s", Int64Kind(1)) + Entry("d", BytesKind("short")) +
                                Entry("d", BytesKind(kBoard)) + Entry("s", Int64Kind(2)));
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK(Find(payload));
    EXPECT_EQ(found_.ints[0], 2);
    EXPECT_EQ(FoundBoard(), kBoard);
  }
}

TEST_F(FeatureFinderTest, NamesWhatIsWrong) {
  std::string d = Entry("d", BytesKind(kBoard)), s = Entry("s", Int64Kind(-7));
  const std::pair<std::string, std::string> cases[] = {
      {Example(d),
       "feature 's' is missing or empty; the record has d. To accept records without it, "
       "set `optional: true`"},
      {"", "feature 'd' is missing or empty; the record has none"},
      {Example(Entry("d", "") + s), "feature 'd' is missing or empty; the record has d, s"},
      {Example(d + Entry("s", Field(2, FloatField(1, 1)))),
       "'s' holds float, but the spec expects int64"},
      {Example(d + Entry("s", Int64Kind(1) + Int64Kind(2))),
       "'s' has 2 values, but the spec expects 1. To accept any "},
      {Example(Entry("d", BytesKind(kBoard) + BytesKind("")) + s), "'d' has 2 values"},
      {ChessExample(0, 0, 193),
       "feature 'd' has 193 bytes, but the spec expects 194. To accept any "},
      {ChessExample(0, 0, 195), "feature 'd' has 195 bytes, but the spec expects 194"}};
  for (const auto& [payload, message] : cases) {
    EXPECT_THAT(Find(payload), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST_F(FeatureFinderTest, ReportsEveryCut) {
  const std::string payload = ChessExample(1, -300);
  for (size_t size = 1; size < payload.size(); ++size) {
    EXPECT_THAT(Find(payload.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no tf.train.Example")));
  }
}

TEST(FeatureFinderTypesTest, FindsListsOfNumbersPackedOrNot) {
  ASSERT_OK_AND_ASSIGN(FeatureFinder finder,
                       FeatureFinder::Create({{"i", FeatureType::kInt64, 3},
                                              {"f", FeatureType::kFloat, 2},
                                              {"j", FeatureType::kInt64, 1},
                                              {"any", FeatureType::kBytes, 0}}));
  FoundFeatures found = finder.MakeFound();
  std::string payload =
      Example(Entry("j", Int64Kind(-4)) + Entry("any", BytesKind("whatever")) +
              Entry("i", Field(3, VarintField(1, 1) + Field(1, Varint(200) + Varint(3)))) +
              Entry("f", Field(2, FloatField(1, 0.5f)) + Field(2, FloatField(1, 1.5f))));
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK(finder.Find(BytesOf(payload), found));
    EXPECT_EQ(found.ints, (std::vector<int64_t>{1, 200, 3, -4}));
    EXPECT_EQ(found.floats, (std::vector<float>{0.5f, 1.5f}));
    EXPECT_EQ(found.bytes[0].size(), 8u);
  }
  EXPECT_EQ(finder.slot(2), 3u);
}

TEST(FeatureFinderTypesTest, RefusesSpecsThatCannotBe) {
  for (std::vector<FeatureUse> specs : {std::vector<FeatureUse>{{"", FeatureType::kInt64, 1}},
                                        {{"a", FeatureType::kNone, 1}},
                                        {{"a", FeatureType::kInt64, 0}},
                                        {{"a", FeatureType::kBytes, 1}, {"a"}}}) {
    EXPECT_THAT(FeatureFinder::Create(specs),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("feature")));
  }
}

}  // namespace
}  // namespace penstock
