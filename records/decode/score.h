// Converts engine scores to training targets in [-1, 1], with the same bits on every machine.
#ifndef PENSTOCK_RECORDS_DECODE_SCORE_H_
#define PENSTOCK_RECORDS_DECODE_SCORE_H_

#include <cstddef>
#include <cstdint>

#include "base/simd_level.h"

namespace penstock {

// tanh(x), computed only with additions, multiplications and one division of doubles, so that no
// library or processor can change a bit. Within 4e-16 of the exact value. REQUIRES: x is not NaN.
double Tanh(double x);

// `a` is the score of a distant mate. A mate scores no more than `a` from |s| = `b` on. `k` is the
// number of centipawns at which an ordinary score is a * tanh(1).
struct MateScoreParams {
  double a = 0.8;
  double b = 11;
  double k = 400;
};

inline constexpr size_t kScoreBlock = 16;

// For each i of a block: with s = scores[i], m = mates[i] (0 or 1),
//   out[i] = (1-m) * a * tanh(s/k) + m * sign(s) * (a + (1-a)/(b-1) * max(0, b-|s|)).
// sign(0) = 0; zeros are +0.0. Thread-safe.
void MateScores(const MateScoreParams& params, SimdLevel level,
                const int64_t (&scores)[kScoreBlock], const uint8_t (&mates)[kScoreBlock],
                double (&out)[kScoreBlock]);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_SCORE_H_
