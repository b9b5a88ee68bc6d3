#include "records/decode/score.h"

#include <bit>

#define PENSTOCK_INLINE __attribute__((always_inline)) inline

namespace penstock {
namespace {

// Computes expm1(y) for 0 <= y <= 44: y = n ln 2 + r with |r| <= ln 2 / 2 (plus rounding), then 2^n
// (expm1(r) + 1) - 1. ln 2 is split so that n * kLn2High is exact (Cody and Waite).
constexpr double kLog2E = 0x1.71547652b82fep0;
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
// Adding this leaves the nearest integer in the low bits of the mantissa.
constexpr double kRound = 0x1.8p52;

// Taylor polynomial up to r^13 / 13!. The next term is below 5e-18 for |r| <= 0.35. Even and odd
// powers are summed separately, which halves the chain of dependent operations.
PENSTOCK_INLINE double Expm1Reduced(double r) {
  const double q = r * r;
  const double even =
      1.0 / 2 +
      q * (1.0 / 24 +
           q * (1.0 / 720 + q * (1.0 / 40320 + q * (1.0 / 3628800 + q * (1.0 / 479001600)))));
  const double odd =
      1.0 / 6 +
      q * (1.0 / 120 +
           q * (1.0 / 5040 + q * (1.0 / 362880 + q * (1.0 / 39916800 + q * (1.0 / 6227020800)))));
  return r + q * (even + r * odd);
}

// tanh(x) = e / (e + 2) with e = expm1(2x), for x >= 0. From 22 on, it is 1 as a double.
PENSTOCK_INLINE double TanhOfPositive(double x) {
  const double doubled = 2 * x;
  const double y = doubled < 44 ? doubled : 44;
  const double rounded = y * kLog2E + kRound;
  const double n = rounded - kRound;
  const double r = (y - n * kLn2High) - n * kLn2Low;
  const double power =
      std::bit_cast<double>((std::bit_cast<uint64_t>(rounded) << 52) + (uint64_t{1023} << 52));
  const double e = power * Expm1Reduced(r) + (power - 1);
  return e / (e + 2);
}

PENSTOCK_INLINE double WithSignOf(double magnitude, double sign) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) |
                               (std::bit_cast<uint64_t>(sign) & kSign));
}

PENSTOCK_INLINE double Absolute(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & ~(uint64_t{1} << 63));
}

PENSTOCK_INLINE void MateScoresOf(const MateScoreParams& params, const int64_t* scores,
                                  const uint8_t* mates, double* out) {
  const double slope = (1 - params.a) / (params.b - 1);
  double score[kScoreBlock];
  double mate[kScoreBlock];
  for (size_t i = 0; i < kScoreBlock; ++i) score[i] = static_cast<double>(scores[i]);
  for (size_t i = 0; i < kScoreBlock; ++i) mate[i] = mates[i];
  for (size_t i = 0; i < kScoreBlock; ++i) {
    const double s = score[i];
    const double size = Absolute(s);
    const double ordinary = params.a * TanhOfPositive(size / params.k);
    const double left = params.b - size;
    const double certain = params.a + slope * (left > 0 ? left : 0);
    const double of_mate = size > 0 ? certain : 0;
    out[i] = WithSignOf(mate[i] != 0 ? of_mate : ordinary, s);
  }
}

__attribute__((target("avx2"))) void MateScoresAvx2(const MateScoreParams& params,
                                                    const int64_t* scores, const uint8_t* mates,
                                                    double* out) {
  MateScoresOf(params, scores, mates, out);
}

__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) void MateScoresAvx512(
    const MateScoreParams& params, const int64_t* scores, const uint8_t* mates, double* out) {
  MateScoresOf(params, scores, mates, out);
}

}  // namespace

double Tanh(double x) { return WithSignOf(TanhOfPositive(Absolute(x)), x); }

void MateScores(const MateScoreParams& params, SimdLevel level,
                const int64_t (&scores)[kScoreBlock], const uint8_t (&mates)[kScoreBlock],
                double (&out)[kScoreBlock]) {
  switch (level) {
    case SimdLevel::kAvx512:
      return MateScoresAvx512(params, scores, mates, out);
    case SimdLevel::kAvx2:
      return MateScoresAvx2(params, scores, mates, out);
    case SimdLevel::kScalar:
      return MateScoresOf(params, scores, mates, out);
  }
}

}  // namespace penstock
