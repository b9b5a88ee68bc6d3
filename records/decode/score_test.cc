#include "records/decode/score.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"

namespace penstock {
namespace {

// Computed from the definition, with the 64-bit mantissa of long double.
long double Reference(const MateScoreParams& p, int64_t s, bool mate) {
  const long double size = std::fabs(static_cast<long double>(s));
  const long double sign = s > 0 ? 1 : s < 0 ? -1 : 0;
  if (!mate) return p.a * std::tanh(static_cast<long double>(s) / p.k);
  return sign * (p.a + (1 - p.a) / (p.b - 1) * std::fmax(0.0L, p.b - size));
}

double Score(const MateScoreParams& params, SimdLevel level, int64_t s, bool mate) {
  int64_t scores[kScoreBlock] = {0, 0, 0, s};
  uint8_t mates[kScoreBlock] = {0, 0, 0, mate};
  double out[kScoreBlock];
  MateScores(params, level, scores, mates, out);
  return out[3];
}

std::vector<int64_t> InterestingScores() {
  std::vector<int64_t> scores = {int64_t{1} << 40, -(int64_t{1} << 40),
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
  for (int64_t s = -12000; s <= 12000; ++s) scores.push_back(s);
  return scores;
}

TEST(TanhTest, IsWithin4e16OfTheExactValue) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-60, 6);
  for (int i = 0; i < 300000; ++i) {
    const double x = std::exp2(exponent(random));
    ASSERT_NEAR(Tanh(x), std::tanh(static_cast<long double>(x)), 4e-16L) << x;
    ASSERT_EQ(Tanh(-x), -Tanh(x)) << x;
  }
}

TEST(TanhTest, KeepsRelativePrecisionNearZero) {
  for (double x = 1e-300; x < 0.1; x *= 1.37) {
    EXPECT_NEAR(Tanh(x) / std::tanh(static_cast<long double>(x)), 1, 6e-16) << x;
  }
}

TEST(TanhTest, SaturatesAtOne) {
  EXPECT_EQ(Tanh(22), 1);
  EXPECT_EQ(Tanh(1e300), 1);
  EXPECT_EQ(Tanh(std::numeric_limits<double>::infinity()), 1);
  EXPECT_EQ(Tanh(-std::numeric_limits<double>::infinity()), -1);
}

TEST(TanhTest, KeepsTheSignOfZero) {
  EXPECT_FALSE(std::signbit(Tanh(0.0)));
  EXPECT_TRUE(std::signbit(Tanh(-0.0)));
}

// These bits are fixed: any processor, compiler or flag must give the same.
TEST(TanhTest, HasTheseBits) {
  EXPECT_EQ(std::bit_cast<uint64_t>(Tanh(0.0025)), 4567911018039777700u);
  EXPECT_EQ(std::bit_cast<uint64_t>(Tanh(0.5)), 4601996382546856691u);
  EXPECT_EQ(std::bit_cast<uint64_t>(Tanh(3.1)), 4607145933871419684u);
}

TEST(MateScoresTest, HoldsTheDefinition) {
  const MateScoreParams params;
  for (const int64_t s : InterestingScores()) {
    for (const bool mate : {false, true}) {
      const double score = Score(params, BestSimdLevel(), s, mate);
      const long double want = Reference(params, s, mate);
      ASSERT_NEAR(score, want, 1e-15L) << s << " " << mate;
      ASSERT_EQ(static_cast<float>(score), static_cast<float>(want)) << s << " " << mate;
    }
  }
}

TEST(MateScoresTest, HoldsTheDefinitionForOtherParameters) {
  const MateScoreParams params = {0.5, 31, 123.5};
  for (int64_t s = -200; s <= 200; ++s) {
    for (const bool mate : {false, true}) {
      ASSERT_NEAR(Score(params, BestSimdLevel(), s, mate), Reference(params, s, mate), 1e-15L) << s;
    }
  }
}

TEST(MateScoresTest, AllLevelsGiveTheSameBits) {
  const MateScoreParams params;
  for (const int64_t s : InterestingScores()) {
    for (const bool mate : {false, true}) {
      const auto want = std::bit_cast<uint64_t>(Score(params, SimdLevel::kScalar, s, mate));
      for (const SimdLevel level : AvailableSimdLevels()) {
        ASSERT_EQ(std::bit_cast<uint64_t>(Score(params, level, s, mate)), want)
            << SimdLevelName(level) << " " << s << " " << mate;
      }
    }
  }
}

TEST(MateScoresTest, ZeroIsPositive) {
  for (const bool mate : {false, true}) {
    EXPECT_EQ(std::bit_cast<uint64_t>(Score({}, BestSimdLevel(), 0, mate)), 0);
  }
}

TEST(MateScoresTest, MateOnTheBoardScoresOne) {
  EXPECT_EQ(Score({}, BestSimdLevel(), 1, true), 1);
  EXPECT_EQ(Score({}, BestSimdLevel(), -1, true), -1);
}

}  // namespace
}  // namespace penstock
