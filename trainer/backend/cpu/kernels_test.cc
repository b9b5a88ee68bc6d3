// Compares each instruction set's kernels with the plain references in double.
#include "trainer/backend/cpu/kernels.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/layer_norm.h"
#include "tests/status_matchers.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/backend/cpu/gemm_bf16.h"
#include "trainer/backend/cpu/thread_pool.h"
#include "trainer/backend/testing/noise.h"

namespace penstock {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

Doubles Wide(const Floats& values) { return {values.begin(), values.end()}; }

// Expects errors of at most `ulps` float roundings of the largest expected value, which is the
// precision of sums of that many terms.
void ExpectClose(const Floats& actual, const Doubles& expected, double ulps) {
  double largest = 0;
  for (double value : expected) largest = std::max(largest, std::abs(value));
  const double tolerance = ulps * std::numeric_limits<float>::epsilon() * largest;
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
}

class CpuKernelsTest : public testing::TestWithParam<const CpuKernels*> {
 protected:
  const CpuKernels& kernels_ = *GetParam();
};

INSTANTIATE_TEST_SUITE_P(Targets, CpuKernelsTest, testing::ValuesIn(SupportedCpuKernels()),
                         [](const auto& test) { return test.param->name; });

TEST_P(CpuKernelsTest, AttentionMatchesTheReference) {
  for (size_t head_dim : {8, 16, 32, 64}) {
    const reference::AttentionShape shape{2, 64, 3, head_dim};
    const Floats qkv = Noise(2 * 64 * 3 * shape.width(), head_dim, 3);
    const Floats dout = Noise(2 * 64 * shape.width(), 7);
    Floats out(dout.size()), dqkv(qkv.size());
    Doubles wide_out(out.size()), wide_dqkv(dqkv.size());
    kernels_.attention(qkv.data(), nullptr, 2, 3, head_dim, out.data());
    kernels_.attention_backward(qkv.data(), nullptr, dout.data(), 2, 3, head_dim, dqkv.data(),
                                nullptr);
    reference::Attention(Wide(qkv).data(), shape, wide_out.data());
    reference::AttentionBackward(Wide(qkv).data(), Wide(dout).data(), shape, wide_dqkv.data());
    ExpectClose(out, wide_out, 64);
    ExpectClose(dqkv, wide_dqkv, 128);
  }
}

// The kernel adds the bias gradient, a sum over three samples, to the existing values.
TEST_P(CpuKernelsTest, BiasedAttentionMatchesTheReference) {
  for (size_t head_dim : {8, 16, 32, 64}) {
    const reference::AttentionShape shape{3, 64, 2, head_dim};
    const Floats qkv = Noise(3 * 64 * 3 * shape.width(), head_dim, 3);
    const Floats dout = Noise(3 * 64 * shape.width(), 7), bias = Noise(2 * 64 * 64, 8, 2);
    const Floats before = Noise(bias.size(), 9);
    Floats out(dout.size()), dqkv(qkv.size()), dbias = before;
    Doubles wide_out(out.size()), wide_dqkv(dqkv.size()), wide_dbias = Wide(before);
    kernels_.attention(qkv.data(), bias.data(), 3, 2, head_dim, out.data());
    kernels_.attention_backward(qkv.data(), bias.data(), dout.data(), 3, 2, head_dim, dqkv.data(),
                                dbias.data());
    const Doubles wide_bias = Wide(bias);
    reference::Attention<double>(Wide(qkv).data(), shape, wide_out.data(),
                                 {.bias = wide_bias.data(), .dropout = {}});
    reference::AttentionBackward<double>(
        Wide(qkv).data(), Wide(dout).data(), shape, wide_dqkv.data(),
        {.bias = wide_bias.data(), .dropout = {}}, wide_dbias.data());
    ExpectClose(out, wide_out, 64);
    ExpectClose(dqkv, wide_dqkv, 128);
    ExpectClose(dbias, wide_dbias, 128);
  }
}

TEST_P(CpuKernelsTest, ABiasOfZeroChangesNoBitOfAttention) {
  for (size_t head_dim : {8, 16, 32, 64}) {
    const size_t width = 2 * head_dim;
    const Floats qkv = Noise(64 * 3 * width, 1, 3), dout = Noise(64 * width, 2);
    const Floats zero(2 * 64 * 64);
    Floats out(dout.size()), biased_out = out, dqkv(qkv.size()), biased_dqkv = dqkv;
    Floats dbias(zero.size());
    kernels_.attention(qkv.data(), nullptr, 1, 2, head_dim, out.data());
    kernels_.attention(qkv.data(), zero.data(), 1, 2, head_dim, biased_out.data());
    kernels_.attention_backward(qkv.data(), nullptr, dout.data(), 1, 2, head_dim, dqkv.data(),
                                nullptr);
    kernels_.attention_backward(qkv.data(), zero.data(), dout.data(), 1, 2, head_dim,
                                biased_dqkv.data(), dbias.data());
    EXPECT_EQ(biased_out, out);
    EXPECT_EQ(biased_dqkv, dqkv);
  }
}

TEST_P(CpuKernelsTest, AttentionStandsLargeScores) {
  const Floats qkv = Noise(64 * 3 * 16, 1, 200);
  Floats out(64 * 16);
  Doubles expected(out.size());
  kernels_.attention(qkv.data(), nullptr, 1, 1, 16, out.data());
  reference::Attention(Wide(qkv).data(), {1, 64, 1, 16}, expected.data());
  // Scores of 1e5 are themselves rounded to 0.01.
  ExpectClose(out, expected, 0.02 / std::numeric_limits<float>::epsilon());
}

// All scores are near -300. Their exponentials would all vanish relative to a maximum that no key
// has.
TEST_P(CpuKernelsTest, AttentionStandsLowScores) {
  const Floats qkv = Noise(64 * 3 * 16, 1);
  Floats out(64 * 16), bias = Noise(64 * 64, 2);
  for (float& b : bias) b -= 300;
  Doubles expected(out.size());
  const Doubles wide_bias = Wide(bias);
  kernels_.attention(qkv.data(), bias.data(), 1, 1, 16, out.data());
  reference::Attention<double>(Wide(qkv).data(), {1, 64, 1, 16}, expected.data(),
                               {.bias = wide_bias.data(), .dropout = {}});
  ExpectClose(out, expected, 512);  // Scores of 300 are themselves rounded to 3e-5.
}

// Rounding would destroy a variance that is computed as a difference of mean squares.
TEST_P(CpuKernelsTest, LayerNormStandsALargeMean) {
  constexpr size_t kRows = 5, kDim = 64;
  Floats x = Noise(kRows * kDim, 1, 2), y(x.size()), mean(kRows), rstd(kRows);
  for (float& value : x) value += 1000;
  const Floats gain = Noise(kDim, 2), offset = Noise(kDim, 3);
  kernels_.layer_norm(x.data(), gain.data(), offset.data(), 1e-5f, kRows, kDim, y.data(),
                      mean.data(), rstd.data());
  Doubles wy(x.size()), wmean(kRows), wrstd(kRows);
  reference::LayerNorm(Wide(x).data(), Wide(gain).data(), Wide(offset).data(), 1e-5, kRows, kDim,
                       wy.data(), wmean.data(), wrstd.data());
  ExpectClose(rstd, wrstd, 16);
  ExpectClose(y, wy, 4000);  // A mean of 1,000 is itself rounded to 6e-5.
}

TEST_P(CpuKernelsTest, LayerNormMatchesTheReference) {
  for (size_t dim : {10, 16, 64, 96}) {
    constexpr size_t kRows = 5;
    const Floats x = Noise(kRows * dim, dim, 2), gain = Noise(dim, 2), offset = Noise(dim, 3);
    const Floats dy = Noise(x.size(), 4), before = Noise(x.size(), 5);
    Floats y(x.size()), mean(kRows), rstd(kRows), dx = before, dgain(dim), doffset(dim);
    kernels_.layer_norm(x.data(), gain.data(), offset.data(), 1e-5f, kRows, dim, y.data(),
                        mean.data(), rstd.data());
    kernels_.layer_norm_backward(dy.data(), x.data(), gain.data(), mean.data(), rstd.data(), kRows,
                                 dim, /*add=*/true, dx.data(), dgain.data(), doffset.data());
    Doubles wy(x.size()), wmean(kRows), wrstd(kRows), wdx = Wide(before), wdgain(dim), wdoff(dim);
    reference::LayerNorm(Wide(x).data(), Wide(gain).data(), Wide(offset).data(), 1e-5, kRows, dim,
                         wy.data(), wmean.data(), wrstd.data());
    reference::LayerNormBackward(Wide(dy).data(), Wide(x).data(), Wide(gain).data(), wmean.data(),
                                 wrstd.data(), kRows, dim, wdx.data(), wdgain.data(), wdoff.data());
    ExpectClose(y, wy, 16);
    ExpectClose(dx, wdx, 16);
    ExpectClose(dgain, wdgain, 16);
    ExpectClose(doffset, wdoff, 16);
  }
}

TEST_P(CpuKernelsTest, LayerNormBackwardOverwritesWhenAsked) {
  const Floats x = Noise(2 * 16, 1), gain = Noise(16, 2), dy = Noise(2 * 16, 3);
  const Floats mean(2, 0.1f), rstd(2, 1.2f);
  Floats zero(32), garbage(32, 1e9f), dgain(16), doffset(16);
  kernels_.layer_norm_backward(dy.data(), x.data(), gain.data(), mean.data(), rstd.data(), 2, 16,
                               true, zero.data(), dgain.data(), doffset.data());
  kernels_.layer_norm_backward(dy.data(), x.data(), gain.data(), mean.data(), rstd.data(), 2, 16,
                               false, garbage.data(), dgain.data(), doffset.data());
  EXPECT_EQ(garbage, zero);
}

TEST_P(CpuKernelsTest, GeluMatchesTheReferenceOverItsWholeRange) {
  Floats x;
  for (float value = -12; value <= 12; value += 0.0137f) x.push_back(value);
  x.insert(x.end(), {-1e4f, 1e4f, 0.0f});
  Floats y(x.size()), dx(x.size(), 1.0f);
  kernels_.gelu(x.data(), x.size(), y.data());
  kernels_.gelu_backward(x.data(), x.size(), dx.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const double wide = x[i], scale = std::max(1.0, std::abs(wide));
    EXPECT_NEAR(y[i], reference::GeluValue(wide, reference::GeluForm::kTanh), 5e-7 * scale) << wide;
    EXPECT_NEAR(dx[i], reference::GeluSlope(wide, reference::GeluForm::kTanh), 2e-6) << wide;
  }
}

// The error is relative to each value: its exponent, up to 25, is rounded a few times.
TEST_P(CpuKernelsTest, GeluKeepsItsPrecisionWhereItIsNearlyZero) {
  Floats x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = -6.0f + 0.003f * static_cast<float>(i);
  Floats y(x.size()), dx(x.size(), 1.0f);
  kernels_.gelu(x.data(), x.size(), y.data());
  kernels_.gelu_backward(x.data(), x.size(), dx.data());
  for (size_t i = 0; i < x.size(); ++i) {  // In double, 1 + tanh would keep only six digits.
    const auto value = reference::GeluValue<long double>(x[i], reference::GeluForm::kTanh);
    const auto slope = reference::GeluSlope<long double>(x[i], reference::GeluForm::kTanh);
    EXPECT_NEAR(y[i] / double(value), 1, 1.6e-5) << x[i];
    EXPECT_NEAR(dx[i] / double(slope), 1, 1.6e-5) << x[i];
  }
}

TEST_P(CpuKernelsTest, GeluOfErfMatchesTheReferenceOverItsWholeRange) {
  Floats x;
  for (float value = -12; value <= 12; value += 0.0137f) x.push_back(value);
  x.insert(x.end(), {-1e4f, 1e4f, 0.0f, std::numeric_limits<float>::quiet_NaN()});
  Floats y(x.size()), dx(x.size(), 1.0f);
  kernels_.gelu_erf(x.data(), x.size(), y.data());
  kernels_.gelu_erf_backward(x.data(), x.size(), dx.data());
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    const double wide = x[i], scale = std::max(1.0, std::abs(wide));
    EXPECT_NEAR(y[i], reference::GeluValue(wide, reference::GeluForm::kErf), 5e-7 * scale) << wide;
    EXPECT_NEAR(dx[i], reference::GeluSlope(wide, reference::GeluForm::kErf), 2e-6) << wide;
  }
  EXPECT_TRUE(std::isnan(y.back()));
}

// 25 columns: one whole vector and a remainder.
TEST_P(CpuKernelsTest, SoftmaxAndItsBackwardMatchTheirFormulas) {
  constexpr size_t kSize = 25;
  const Floats scores = Noise(kSize, 1), bias = Noise(kSize, 2), dp = Noise(kSize, 3);
  Floats p = scores, ds = dp;
  kernels_.softmax(p.data(), bias.data(), 0.5f, 1, kSize);
  kernels_.softmax_backward(p.data(), 1, kSize, ds.data());
  double sum = 0, mean = 0;
  for (size_t i = 0; i < kSize; ++i) sum += std::exp(0.5 * scores[i] + bias[i]);
  for (size_t i = 0; i < kSize; ++i) mean += std::exp(0.5 * scores[i] + bias[i]) / sum * dp[i];
  for (size_t i = 0; i < kSize; ++i) {
    const double expected = std::exp(0.5 * scores[i] + bias[i]) / sum;
    EXPECT_NEAR(p[i], expected, 1e-6 * expected) << i;
    EXPECT_NEAR(ds[i], expected * (dp[i] - mean), 1e-7) << i;
  }
}

TEST_P(CpuKernelsTest, SoftmaxGivesEqualScoresEqualBitsInVectorsAndInTheRest) {
  Floats p = Noise(16, 1, 20);
  for (size_t i = 0; i < 15; ++i) p.push_back(p[i]);
  kernels_.softmax(p.data(), nullptr, 1.0f, 1, p.size());
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(p[16 + i], p[i]) << i;
}

TEST_P(CpuKernelsTest, SoftmaxOfLargeScoresIsFinite) {
  Floats p = {1e30f, 1e30f, -1e30f, 0.0f};
  kernels_.softmax(p.data(), nullptr, 1.0f, 1, p.size());
  const auto nothing = testing::FloatNear(0, 1e-37f);  // At most e^-87, the least value of Exp().
  EXPECT_THAT(p, testing::ElementsAre(0.5f, 0.5f, nothing, nothing));
}

TEST_P(CpuKernelsTest, DropoutIsTheReferences) {
  const Dropout dropout = Dropout::OfRate(0.3);
  const Floats x = Noise(1000, 1);
  Floats y(x.size()), expected(x.size());
  constexpr uint64_t kKey = 0xfedcba9876543210, kFirst = (uint64_t{1} << 32) - 500;
  kernels_.drop_out(x.data(), dropout, kKey, kFirst, x.size(), y.data());
  reference::DropOut(x.data(), dropout, kKey, kFirst, x.size(), expected.data());
  EXPECT_EQ(y, expected);
  EXPECT_NEAR(std::count(y.begin(), y.end(), 0.0f), 300, 60);
}

TEST_P(CpuKernelsTest, NanReachesTheOutput) {
  Floats x(20, 1.0f), y(20);
  x[17] = std::numeric_limits<float>::quiet_NaN();
  kernels_.gelu(x.data(), x.size(), y.data());
  EXPECT_TRUE(std::isnan(y[17]));
  EXPECT_FALSE(std::isnan(y[16]));
}

// NaNs of various bits in one of 64 keys, whose scores are part of every output's sum.
TEST_P(CpuKernelsTest, NanReachesTheOutputOfAttention) {
  for (uint32_t bits : {0x7fc00000u, 0x7fffffffu, 0xffc00001u, 0xffffffffu}) {
    Floats qkv = Noise(64 * 3 * 16, 1), out(64 * 16);
    qkv[5 * 3 * 16 + 16] = std::bit_cast<float>(bits);
    kernels_.attention(qkv.data(), nullptr, 1, 1, 16, out.data());
    for (float x : out) ASSERT_TRUE(std::isnan(x)) << bits;
  }
}

TEST_P(CpuKernelsTest, ColumnSumsAndFilledRowsTakeOddSizes) {
  constexpr size_t kRows = 3, kColumns = 131;
  const Floats bias = Noise(kColumns, 1), residual = Noise(kRows * kColumns, 2);
  Floats y(residual.size()), sums(kColumns, 1.0f);
  kernels_.fill_rows(bias.data(), residual.data(), kRows, kColumns, y.data());
  kernels_.add_column_sums(y.data(), kRows, kColumns, sums.data());
  for (size_t c = 0; c < kColumns; ++c) {
    double expected = 1;
    for (size_t r = 0; r < kRows; ++r) expected += double(bias[c]) + residual[r * kColumns + c];
    EXPECT_NEAR(sums[c], expected, 1e-6) << c;
  }
}

TEST_P(CpuKernelsTest, AdamwMatchesTheReference) {
  const Floats gradient = Noise(37, 1);
  Floats parameter = Noise(37, 2), m = Noise(37, 3, 0.1), v(37, 0.01f);
  Doubles wide_parameter = Wide(parameter), wide_m = Wide(m), wide_v = Wide(v);
  kernels_.adamw(reference::AdamwScalars<float>::ForStep(5, 0.01, 0.01, 0.5), gradient.data(), 37,
                 parameter.data(), m.data(), v.data());
  reference::Adamw(reference::AdamwScalars<double>::ForStep(5, 0.01, 0.01, 0.5),
                   Wide(gradient).data(), 37, wide_parameter.data(), wide_m.data(), wide_v.data());
  ExpectClose(parameter, wide_parameter, 4);
  ExpectClose(m, wide_m, 4);
  ExpectClose(v, wide_v, 4);
}

// The first step, with gradients near epsilon and then with zero gradients.
TEST_P(CpuKernelsTest, AdamwAddsItsEpsilonToTheRoot) {
  Floats gradient = Noise(37, 1, 4e-8), parameter = Noise(37, 2), m(37), v(37);
  gradient[20] = 0;
  Doubles wide_parameter = Wide(parameter), wide_m(37), wide_v(37);
  kernels_.adamw(reference::AdamwScalars<float>::ForStep(1, 0.1, 0.01, 1), gradient.data(), 37,
                 parameter.data(), m.data(), v.data());
  reference::Adamw(reference::AdamwScalars<double>::ForStep(1, 0.1, 0.01, 1), Wide(gradient).data(),
                   37, wide_parameter.data(), wide_m.data(), wide_v.data());
  for (size_t i = 0; i < 37; ++i) EXPECT_NEAR(parameter[i], wide_parameter[i], 1e-5) << i;
}

TEST_P(CpuKernelsTest, SumsSquares) {
  const Floats x = Noise(1003, 1);
  double expected = 0;
  for (double value : x) expected += value * value;
  EXPECT_NEAR(kernels_.sum_squares(x.data(), x.size()), expected, 1e-9);
}

class GemmTest : public testing::TestWithParam<GemmEngine> {};

INSTANTIATE_TEST_SUITE_P(Engines, GemmTest,
                         testing::Values(GemmEngine::kOneDnn, GemmEngine::kOpenBlas));

TEST_P(GemmTest, MultipliesEveryTransposition) {
  constexpr size_t kM = 5, kN = 7, kK = 3;
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Floats a = Noise(kM * kK, 1), b = Noise(kK * kN, 2);
      Floats c(kM * kN, 0.5f);
      Gemm(GetParam(), kM, kN, kK, {a.data(), ta ? kM : kK, Transpose{ta}},
           {b.data(), tb ? kK : kN, Transpose{tb}}, /*accumulate=*/true, c.data());
      for (size_t i = 0; i < kM; ++i) {
        for (size_t j = 0; j < kN; ++j) {
          double sum = 0.5;
          for (size_t k = 0; k < kK; ++k) {
            sum += double(a[ta ? k * kM + i : i * kK + k]) * b[tb ? j * kK + k : k * kN + j];
          }
          EXPECT_NEAR(c[i * kN + j], sum, 1e-6);
        }
      }
    }
  }
}

TEST(ThreadPoolTest, VisitsEveryIndexOnce) {
  ASSERT_OK_AND_ASSIGN(const auto pool, ThreadPool::Start(3));
  for (size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> visits(count);
    pool->ParallelFor(count, [&](size_t worker, size_t i) {
      EXPECT_LT(worker, 3u);
      ++visits[i];
    });
    for (const std::atomic<int>& visit : visits) EXPECT_EQ(visit, 1);
  }
}

TEST(RoundToBf16Test, RoundsToNearestTiesToEven) {
  const std::vector<float> from = {1.0f,
                                   -2.5f,
                                   1.00390625f,  // 1 + 2^-8, a tie: down to even.
                                   1.01171875f,  // 1 + 3 * 2^-8, a tie: up to even.
                                   1.004f,       // Just above the first tie.
                                   std::numeric_limits<float>::infinity(),
                                   0.0f,
                                   1e-40f,  // Denormals, in whole vectors and in the remainder.
                                   -1e-40f};
  std::vector<float> many;  // Long enough for whole vectors and a remainder.
  for (int i = 0; i < 13; ++i) many.insert(many.end(), from.begin(), from.end());
  std::vector<uint16_t> to(many.size());
  RoundToBf16(many, to);
  const std::vector<uint16_t> expected = {0x3f80, 0xc020, 0x3f80, 0x3f82, 0x3f81,
                                          0x7f80, 0,      0,      0x8000};
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], expected[i % expected.size()]) << i;
  const std::vector<float> nan(40, std::numeric_limits<float>::quiet_NaN());
  std::vector<uint16_t> rounded(40);
  RoundToBf16(nan, rounded);
  for (uint16_t value : rounded) EXPECT_EQ(value & 0x7fc0, 0x7fc0);
}

float FromBf16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

// Operands are rounded first. The sum of their products differs from the exact sum only by float32
// rounding.
TEST(GemmBf16Test, MultipliesRoundedOperandsInEveryTransposition) {
  if (const absl::Status can = CheckBf16Products(); !can.ok()) GTEST_SKIP() << can.message();
  for (const auto& [m, n, k] :
       {std::array<size_t, 3>{256, 192, 64}, {5, 7, 34}, {1, 1, 64}, {34, 64, 256}}) {
    const Floats a = Noise(m * k, 1), b = Noise(k * n, 2);
    std::vector<uint16_t> a16(a.size()), b16(b.size());
    RoundToBf16(a, a16);
    RoundToBf16(b, b16);
    for (int variant = 0; variant < 8; ++variant) {
      const bool ta = variant & 1, tb = variant & 2, add = variant & 4;
      std::vector<float> c(m * n, 10.0f);
      Gemm(GemmEngine::kOneDnnBf16, m, n, k, {a.data(), ta ? m : k, Transpose{ta}},
           {b.data(), tb ? k : n, Transpose{tb}}, add, c.data());
      for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
          double sum = add ? 10.0 : 0.0, size = sum;
          for (size_t x = 0; x < k; ++x) {
            const double product = double(FromBf16(a16[ta ? x * m + i : i * k + x])) *
                                   double(FromBf16(b16[tb ? j * k + x : x * n + j]));
            sum += product;
            size += std::abs(product);
          }
          ASSERT_NEAR(c[i * n + j], sum, 1e-6 * size + 1e-7)
              << m << "x" << n << "x" << k << " variant " << variant << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST(GemmBf16Test, ReadsRowsWithGaps) {
  if (const absl::Status can = CheckBf16Products(); !can.ok()) GTEST_SKIP() << can.message();
  const std::vector<float> a = {1, 2, 99, 3, 4, 99}, b = {5, 6, 7, 8};
  std::vector<float> c(4);
  Gemm(GemmEngine::kOneDnnBf16, 2, 2, 2, {a.data(), 3}, {b.data(), 2}, false, c.data());
  EXPECT_EQ(c, (std::vector<float>{19, 22, 43, 50}));
}

TEST(GemmBf16Test, IsNotOpenBlas) {
  EXPECT_EQ(ParseGemmEngine("openblas", "bf16").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseGemmEngine("onednn", "fp8").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock
