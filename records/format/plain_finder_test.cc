#include "records/format/plain_finder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "gtest/gtest.h"
#include "records/format/feature_finder.h"
#include "records/format/testing/same_features.h"
#include "records/format/testing/wire_writer.h"

namespace penstock {
namespace {

std::string Packed(const std::vector<int64_t>& values) {
  std::string run;
  for (const int64_t value : values) run += Varint(static_cast<uint64_t>(value));
  return Field(3, Field(1, run));
}

std::string Float(float value) { return Field(2, Field(1, Fixed32(value))); }

class PlainFinderTest : public ::testing::Test {
 protected:
  PlainFinderTest()
      : walker_(*FeatureFinder::Create(
            {{"id", FeatureType::kInt64, 1},
             {"pair", FeatureType::kInt64, 2},
             {"x", FeatureType::kFloat, 1},
             {"text", FeatureType::kBytes, 0},
             {"tokens", FeatureType::kInt64, 0, VariableUse{.max_count = 20}},
             {"note", FeatureType::kBytes, 0, VariableUse{.optional = true}}})),
        found_(walker_.MakeFound()) {
    for (size_t i = 0; i < walker_.specs().size(); ++i) slots_.push_back(walker_.slot(i));
    finder_ = PlainFinder(walker_.specs(), slots_);
  }

  bool Find(const std::string& payload) { return finder_.Find(BytesOf(payload), found_); }

  // Returns whether the finder found anything. If so, a fresh finder that walks must find the same.
  bool Agrees(const std::string& payload) {
    if (!Find(payload)) return false;
    FeatureFinder fresh = *FeatureFinder::Create(walker_.specs());
    FoundFeatures walked = fresh.MakeFound();
    EXPECT_TRUE(fresh.Find(BytesOf(payload), walked).ok());
    EXPECT_TRUE(SameFeatures(found_, walked));
    return true;
  }

  FeatureFinder walker_;
  std::vector<size_t> slots_;
  PlainFinder finder_;
  FoundFeatures found_;
};

int64_t AnyNumber(CounterRng& rng) { return static_cast<int64_t>(rng.Next() >> rng.Below(64)); }

std::vector<std::string> AnyEntries(CounterRng& rng) {
  std::vector<int64_t> tokens(rng.Below(21));
  for (int64_t& token : tokens) token = AnyNumber(rng);
  return {Entry("id", Packed({AnyNumber(rng)})),
          Entry("pair", Packed({AnyNumber(rng), -AnyNumber(rng)})),
          Entry("x", Float(0.25F)),
          Entry("unknown", BytesKind(std::string(rng.Below(300), 'u'))),
          Entry("text", BytesKind(std::string(rng.Below(300), 't'))),
          Entry("tokens", Packed(tokens))};
}

std::string Joined(const std::vector<std::string>& entries) {
  std::string all;
  for (const std::string& entry : entries) all += entry;
  return all;
}

TEST_F(PlainFinderTest, FindsWhatAWalkFindsInAnyOrderOfEntries) {
  CounterRng rng(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> entries = AnyEntries(rng);
    if (rng.Below(2) == 0) entries.push_back(Entry("note", BytesKind("seen")));
    if (rng.Below(2) == 0) std::swap(entries[rng.Below(6)], entries[rng.Below(6)]);
    ASSERT_TRUE(Agrees(Example(Joined(entries))));
    EXPECT_EQ(found_.variable[1].present, entries.size() == 7);
  }
}

// Entries are swapped, duplicated and left out, so that an order learned from earlier records
// cannot hide an error.
TEST_F(PlainFinderTest, FindsTheRecordsThatHaveEachFeatureOnceAfterAnyOthers) {
  CounterRng rng(4);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<std::string> entries = AnyEntries(rng);
    std::vector<size_t> picks = {0, 1, 2, 3, 4, 5};
    for (uint64_t changes = rng.Below(3); changes > 0; --changes) {
      const auto at = picks.begin() + static_cast<ptrdiff_t>(rng.Below(picks.size()));
      const uint64_t change = rng.Below(3);
      if (change == 0) std::iter_swap(at, picks.begin());
      if (change == 1) picks.insert(at, size_t{picks.back()});
      if (change == 2) picks.erase(at);
    }
    std::string all;
    for (const size_t pick : picks) all += entries[pick];
    bool once = true;
    for (const size_t wanted : {0, 1, 2, 4, 5}) once &= std::ranges::count(picks, wanted) == 1;
    ASSERT_EQ(Agrees(Example(all)), once) << i;
  }
}

TEST_F(PlainFinderTest, FindsNumbersOfAnySizeAndAtTheEndOfTheRecord) {
  const std::string rest = Entry("pair", Packed({1, 2})) + Entry("x", Float(2)) +
                           Entry("text", BytesKind("t")) + Entry("tokens", Packed({}));
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t value = uint64_t{1} << bit;
    for (const uint64_t bits : {value, value - 1, 0 - value}) {
      const auto number = static_cast<int64_t>(bits);
      ASSERT_TRUE(Agrees(Example(Entry("id", Packed({number})) + rest)));
      ASSERT_TRUE(Agrees(Example(rest + Entry("id", Packed({number})))));
    }
  }
}

TEST_F(PlainFinderTest, LeavesWhatIsNotPlainToTheWalk) {
  CounterRng rng(2);
  const std::vector<std::string> entries = AnyEntries(rng);
  const std::string all = Joined(entries);
  ASSERT_TRUE(Find(Example(all)));
  EXPECT_FALSE(Find(""));
  EXPECT_FALSE(Find(Example(all) + Example("")));              // Two maps.
  EXPECT_FALSE(Find(Example(all) + VarintField(9, 1)));        // A field of a later version.
  EXPECT_FALSE(Find(Example(all + entries[0])));               // A name appears twice.
  EXPECT_FALSE(Find(Example(all.substr(entries[0].size()))));  // An entry is missing.
  const std::string rest = all.substr(entries[0].size());
  EXPECT_FALSE(Find(Example(Entry("id", Float(1)) + rest)));
  EXPECT_FALSE(Find(Example(Entry("id", Packed({1, 2})) + rest)));
  EXPECT_FALSE(Find(Example(Entry("id", Packed({})) + rest)));
  EXPECT_FALSE(Find(Example(Entry("id", Field(3, VarintField(1, 5))) + rest)));  // Not packed.
  EXPECT_FALSE(Find(Example(Entry("id", Packed({1}) + Packed({2})) + rest)));
  EXPECT_FALSE(Find(Example(Entry("id", Field(3, Field(1, std::string(11, '\xff')))) + rest)));
}

TEST_F(PlainFinderTest, ADifferentBitIsFoundAsTheWalkFindsItOrLeft) {
  CounterRng rng(3);
  const std::string good = Example(Joined(AnyEntries(rng)));
  size_t found = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    found += Agrees(flipped) ? 1 : 0;
  }
  EXPECT_GT(found, 0U);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(Find(good.substr(0, size)));
}

TEST_F(PlainFinderTest, FindsNothingWhereASpecWantsAnotherForm) {
  const FeatureUse list = {"l", FeatureType::kBytes, 0, VariableUse{.list = true}};
  const FeatureUse sequence = {"q", FeatureType::kInt64, 0, VariableUse{.sequence = true}};
  const FeatureUse payload = {"", FeatureType::kBytes, 0, VariableUse{}};
  const std::string record = Example(Entry("l", BytesKind("a")));
  for (const FeatureUse& use : {list, sequence, payload}) {
    FeatureFinder walker = *FeatureFinder::Create({use});
    FoundFeatures found = walker.MakeFound();
    const std::vector<size_t> slots = {walker.slot(0)};
    EXPECT_FALSE(PlainFinder(walker.specs(), slots).Find(BytesOf(record), found));
  }
}

}  // namespace
}  // namespace penstock
