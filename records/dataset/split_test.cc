#include "records/dataset/split.h"

#include <set>
#include <vector>

#include "base/counter_rng.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::vector<uint8_t> RandomBytes(size_t size, uint64_t key) {
  CounterRng rng(key);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.Next());
  return bytes;
}

TEST(SplitTest, NamesRoundTrip) {
  for (Split split : {Split::kAll, Split::kTrain, Split::kHoldout}) {
    EXPECT_THAT(ParseSplit(SplitName(split)), IsOkAndHolds(split));
  }
  EXPECT_THAT(ParseSplit("test"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("test")));
}

TEST(SplitTest, HashDependsOnEveryBitAndTheLength) {
  std::set<uint64_t> seen;
  size_t expected = 0;
  for (size_t size : {0, 1, 15, 16, 17, 47, 48, 49, 64, 96, 97, 194}) {
    std::vector<uint8_t> bytes(size);
    seen.insert(SplitHash(bytes));
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      seen.insert(SplitHash(bytes));
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    expected += 1 + 8 * size;
  }
  EXPECT_EQ(seen.size(), expected);
}

// Values computed by an independent program that was written from
// docs/reference/manifest_format.md.
TEST(SplitTest, HashIsAsTheFormatSays) {
  const std::pair<size_t, uint64_t> cases[] = {{0, 0x4e6ae996bbe44404},  {5, 0xb2428687097898b6},
                                               {16, 0x3ed058d03058affa}, {17, 0x6c33bff7d10631c7},
                                               {48, 0x32c421b8c0cfd101}, {49, 0x224d0de69a526261},
                                               {194, 0xd134da49bcf49ccd}};
  for (const auto& [size, hash] : cases) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    EXPECT_EQ(SplitHash(bytes), hash) << size;
  }
}

TEST(SplitTest, HoldoutTakesItsShare) {
  ASSERT_OK_AND_ASSIGN(uint32_t threshold, ParseHoldoutThreshold("5%"));
  int held = 0;
  for (uint64_t i = 0; i < 100'000; ++i) held += InHoldout(RandomBytes(194, i), threshold);
  EXPECT_NEAR(held, 5000, 4 * 69);  // Four standard deviations.
}

TEST(SplitTest, ThresholdZeroHoldsNothingOut) {
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_FALSE(InHoldout(RandomBytes(20, i), 0));
}

TEST(SplitTest, ReadsSharesAndFractions) {
  EXPECT_THAT(ParseHoldoutThreshold("50%"), IsOkAndHolds(0x80000000u));
  EXPECT_THAT(ParseHoldoutThreshold("0.25"), IsOkAndHolds(0x40000000u));
  EXPECT_THAT(ParseHoldoutThreshold("0"), IsOkAndHolds(0u));
  for (absl::string_view text : {"", "%", "100%", "-1%", "1.0", "x", "nan", "5 percent"}) {
    EXPECT_THAT(ParseHoldoutThreshold(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("such as 5%")));
  }
}

}  // namespace
}  // namespace penstock
