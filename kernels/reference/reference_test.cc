// Compares each backward with central differences of its forward, in double.
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/adamw.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/board_features.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/images.h"
#include "kernels/reference/layer_norm.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/loss.h"
#include "kernels/reference/pool.h"

namespace penstock::reference {
namespace {

using Values = std::vector<double>;

// Deterministic values in (-1, 1), different for each salt.
Values Noise(size_t count, int salt) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = std::sin(1.7 * double(i) + 0.3 + 11.0 * salt);
  return values;
}

double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// In double, central differences have an error of about 1e-9 for values of order one.
void ExpectGradient(Values& x, const Values& gradient, const std::function<double()>& objective) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(x.size(), gradient.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + kStep;
    const double above = objective();
    x[i] = kept - kStep;
    const double below = objective();
    x[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-7) << "element " << i;
  }
}

TEST(LinearTest, BackwardMatchesDifferences) {
  constexpr size_t kRows = 3, kIn = 5, kOut = 4;
  Values x = Noise(kRows * kIn, 1), w = Noise(kOut * kIn, 2), b = Noise(kOut, 3);
  Values residual = Noise(kRows * kOut, 4), dy = Noise(kRows * kOut, 5), y(kRows * kOut);
  auto objective = [&] {
    Linear(x.data(), w.data(), b.data(), residual.data(), kRows, kIn, kOut, y.data());
    return Dot(y, dy);
  };
  Values dx(x.size()), dw(w.size()), db(b.size());
  LinearBackwardInput(dy.data(), w.data(), kRows, kIn, kOut, dx.data());
  LinearBackwardWeight(dy.data(), x.data(), kRows, kIn, kOut, dw.data(), db.data());
  ExpectGradient(x, dx, objective);
  ExpectGradient(w, dw, objective);
  ExpectGradient(b, db, objective);
  ExpectGradient(residual, dy, objective);
}

TEST(LayerNormTest, BackwardMatchesDifferences) {
  constexpr size_t kRows = 3, kDim = 7;
  Values x = Noise(kRows * kDim, 1), gamma = Noise(kDim, 2), beta = Noise(kDim, 3);
  Values dy = Noise(x.size(), 4), y(x.size()), mean(kRows), rstd(kRows);
  auto objective = [&] {
    LayerNorm(x.data(), gamma.data(), beta.data(), 1e-5, kRows, kDim, y.data(), mean.data(),
              rstd.data());
    return Dot(y, dy);
  };
  objective();
  Values dx(x.size()), dgamma(kDim), dbeta(kDim);
  LayerNormBackward(dy.data(), x.data(), gamma.data(), mean.data(), rstd.data(), kRows, kDim,
                    dx.data(), dgamma.data(), dbeta.data());
  ExpectGradient(x, dx, objective);
  ExpectGradient(gamma, dgamma, objective);
  ExpectGradient(beta, dbeta, objective);
}

TEST(AttentionTest, BackwardMatchesDifferences) {
  constexpr AttentionShape kShape{.samples = 2, .tokens = 5, .heads = 2, .head_dim = 3};
  Values qkv = Noise(kShape.samples * kShape.tokens * 3 * kShape.width(), 1);
  Values dout = Noise(qkv.size() / 3, 2), out(dout.size()), dqkv(qkv.size());
  AttentionBackward(qkv.data(), dout.data(), kShape, dqkv.data());
  ExpectGradient(qkv, dqkv, [&] {
    Attention(qkv.data(), kShape, out.data());
    return Dot(out, dout);
  });
}

TEST(AttentionTest, BackwardMatchesDifferencesWithBiasAndDropout) {
  constexpr AttentionShape kShape{.samples = 2, .tokens = 4, .heads = 2, .head_dim = 3};
  Values qkv = Noise(kShape.samples * kShape.tokens * 3 * kShape.width(), 1);
  Values dout = Noise(qkv.size() / 3, 2), out(dout.size()), dqkv(qkv.size());
  Values bias = Noise(kShape.heads * kShape.tokens * kShape.tokens, 3), dbias(bias.size());
  const AttentionOptions<double> options{
      .bias = bias.data(), .dropout = Dropout::OfRate(0.3), .key = 5, .first_sample = 11};
  AttentionBackward(qkv.data(), dout.data(), kShape, dqkv.data(), options, dbias.data());
  auto objective = [&] {
    Attention(qkv.data(), kShape, out.data(), options);
    return Dot(out, dout);
  };
  ExpectGradient(qkv, dqkv, objective);
  ExpectGradient(bias, dbias, objective);
}

TEST(AttentionTest, DropoutOfAPartIsThatOfTheWhole) {
  AttentionShape shape{.samples = 3, .tokens = 4, .heads = 2, .head_dim = 3};
  const Values qkv = Noise(shape.samples * shape.tokens * 3 * shape.width(), 1);
  AttentionOptions<double> options{.dropout = Dropout::OfRate(0.5), .key = 9};
  Values whole(qkv.size() / 3), part(whole.size() / 3);
  Attention(qkv.data(), shape, whole.data(), options);
  shape.samples = 1;
  options.first_sample = 2;
  Attention(qkv.data() + 2 * qkv.size() / 3, shape, part.data(), options);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.end() - ptrdiff_t(part.size())));
}

TEST(AttentionTest, EqualKeysGiveTheMeanOfTheValues) {
  constexpr AttentionShape kShape{.samples = 1, .tokens = 4, .heads = 1, .head_dim = 1};
  const Values qkv = {5, 1, 10, -3, 1, 20, 7, 1, 30, 0, 1, 40};  // (token, q k v)
  Values out(4);
  Attention(qkv.data(), kShape, out.data());
  EXPECT_THAT(out, testing::Each(testing::DoubleNear(25, 1e-12)));
}

class GeluTest : public testing::TestWithParam<GeluForm> {};

TEST_P(GeluTest, BackwardMatchesDifferences) {
  Values x = Noise(20, 1), dy = Noise(20, 2), y(20), dx(20);
  for (double& value : x) value *= 4;
  GeluBackward(dy.data(), x.data(), GetParam(), x.size(), dx.data());
  ExpectGradient(x, dx, [&] {
    Gelu(x.data(), GetParam(), x.size(), y.data());
    return Dot(y, dy);
  });
}

INSTANTIATE_TEST_SUITE_P(Forms, GeluTest, testing::Values(GeluForm::kTanh, GeluForm::kErf));

TEST(GeluValueTest, FormsAgreeWithTheirDefinitions) {
  EXPECT_NEAR(GeluValue(1.0, GeluForm::kErf), 0.8413447460685429, 1e-15);  // Phi(1).
  EXPECT_NEAR(GeluValue(1.0, GeluForm::kTanh), 0.8411919906082768, 1e-15);
}

TEST(TanhTest, BackwardMatchesDifferences) {
  Values x = Noise(9, 1), dy = Noise(9, 2), y(9), dx(9);
  auto objective = [&] {
    Tanh(x.data(), x.size(), y.data());
    return Dot(y, dy);
  };
  objective();
  TanhBackward(dy.data(), y.data(), x.size(), dx.data());
  ExpectGradient(x, dx, objective);
}

TEST(DropOutTest, MultipliesByTheFactors) {
  const Dropout dropout = Dropout::OfRate(0.5);
  const Values x = Noise(100, 1);
  Values y(100);
  DropOut(x.data(), dropout, /*key=*/9, /*first_index=*/7, 100, y.data());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(y[i], x[i] * double(dropout.Factor(9, 7 + i)));
}

TEST(DropOutTest, OfAPartIsThatOfTheWholeAndMayBeInPlace) {
  Values whole = Noise(30, 1), part(whole.begin() + 10, whole.end());
  DropOut(whole.data(), Dropout::OfRate(0.5), 9, 0, 30, whole.data());
  DropOut(part.data(), Dropout::OfRate(0.5), 9, 10, 20, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 10));
}

TEST(DropOutTest, IsACopyWhereItIsNotActive) {
  const Values x = Noise(9, 1);
  Values y(9);
  DropOut(x.data(), Dropout::OfRate(0), 9, 0, 9, y.data());
  EXPECT_EQ(y, x);
}

TEST(MeanPoolTest, BackwardMatchesDifferences) {
  Values x = Noise(2 * 3 * 4, 1), dy = Noise(2 * 4, 2), y(dy.size()), dx(x.size());
  MeanPoolBackward(dy.data(), 2, 3, 4, dx.data());
  ExpectGradient(x, dx, [&] {
    MeanPool(x.data(), 2, 3, 4, y.data());
    return Dot(y, dy);
  });
}

TEST(AddPositionTest, BackwardMatchesDifferences) {
  const Values x = Noise(3 * 4, 1), dy = Noise(3 * 4, 2);
  Values position = Noise(4, 3), dposition(4);
  AddPositionBackward(dy.data(), 3, 4, dposition.data());
  ExpectGradient(position, dposition, [&] {
    Values y = x;
    AddPosition(position.data(), 3, 4, y.data());
    return Dot(y, dy);
  });
}

TEST(SquaredErrorTest, BackwardMatchesDifferences) {
  Values prediction = Noise(6, 1), target = Noise(6, 2), gradient(6);
  SquaredErrorBackward(prediction.data(), target.data(), 0.25, 6, gradient.data());
  ExpectGradient(prediction, gradient,
                 [&] { return 0.25 * SquaredErrorSum(prediction.data(), target.data(), 6); });
}

// The sum of the losses of Classify(), each times its weight.
double WeightedLoss(const Values& logits, const Values& targets, const Values& weight,
                    size_t classes, size_t stride) {
  Values results(2 * targets.size());
  Classify(logits.data(), targets.data(), targets.size(), classes, stride, results.data());
  double loss = 0;
  for (size_t b = 0; b < targets.size(); ++b) loss += weight[b] * results[2 * b];
  return loss;
}

TEST(SoftmaxCrossEntropyTest, BackwardMatchesDifferences) {
  constexpr size_t kClasses = 5, kStride = 8;
  const Values targets = {4, 0, 2}, weight = {0.25, 0.5, -1};
  Values logits = Noise(3 * kStride, 1), gradient(logits.size(), 7.0);
  SoftmaxCrossEntropyBackward(logits.data(), targets.data(), weight.data(), 3, kClasses, kStride,
                              gradient.data());
  ExpectGradient(logits, gradient,
                 [&] { return WeightedLoss(logits, targets, weight, kClasses, kStride); });
}

TEST(SoftmaxCrossEntropyTest, RowsWithoutWeightAreNotRead) {
  const Values targets = {-1, 3, 5}, weight = {0, 0.5, 0};
  Values logits = Noise(3 * 5, 1), gradient(15, 7.0), expected(15);
  logits[2] = std::nan("");
  SoftmaxCrossEntropyBackward(logits.data(), targets.data(), weight.data(), 3, 5, 5,
                              gradient.data());
  SoftmaxCrossEntropyBackward(&logits[5], &targets[1], &weight[1], 1, 5, 5, &expected[5]);
  EXPECT_EQ(gradient, expected);
}

TEST(SoftmaxCrossEntropyTest, ATargetThatIsNoClassIsSeenInItsGradient) {
  const Values logits(4), weight = {1};
  for (double target : {-1.0, 0.5, 3.0, double(INFINITY), std::nan("")}) {
    Values gradient(4);
    SoftmaxCrossEntropyBackward(logits.data(), &target, weight.data(), 1, 3, 4, gradient.data());
    EXPECT_THAT(gradient,
                testing::ElementsAre(testing::IsNan(), testing::IsNan(), testing::IsNan(), 0.0))
        << target;
  }
}

TEST(ClassifyTest, OfEqualLogitsTheLowerClassIsAhead) {
  const Values logits(7, 3.0);
  for (const double target : {0, 3, 6}) {
    double results[2];
    Classify(logits.data(), &target, 1, 7, 7, results);
    EXPECT_NEAR(results[0], std::log(7.0), 1e-12);
    EXPECT_EQ(results[1], target);
  }
}

TEST(ClassifyTest, CountsTheClassesThatAreLikelierThanTheTarget) {
  const Values logits = {-2, -1, -3, 9, 0, 1, 2, 9}, targets = {0, 2};
  Values results(4);
  Classify(logits.data(), targets.data(), 2, 3, 4, results.data());
  EXPECT_EQ(results[1], 1);
  EXPECT_EQ(results[3], 0);
  EXPECT_NEAR(results[2], std::log(1 + std::exp(-1.0) + std::exp(-2.0)), 1e-12);
}

TEST(ClassifyTest, ATargetWhoseLogitIsNoNumberIsNeverTheLikeliest) {
  const Values logits = {0, std::nan(""), 1};
  for (const double target : {0, 1, 2}) {
    double results[2];
    Classify(logits.data(), &target, 1, 3, 3, results);
    EXPECT_GT(results[1], 0) << target;
  }
}

TEST(ClassifyTest, ATargetThatIsNoClassHasNoLossAndAllClassesAhead) {
  const Values logits = {0, 2, 1};
  for (double target : {-1.0, 0.5, 3.0, double(INFINITY), std::nan("")}) {
    double results[2];
    Classify(logits.data(), &target, 1, 3, 3, results);
    EXPECT_TRUE(std::isnan(results[0])) << target;
    EXPECT_EQ(results[1], 3) << target;
  }
}

TEST(AddLayerNormTest, NormalisesTheSum) {
  const Values x = Noise(6, 1), residual = Noise(6, 2), gamma = Noise(3, 3), beta = Noise(3, 4);
  Values sum(6), y(6), mean(2), rstd(2), expected(6);
  AddLayerNorm(x.data(), residual.data(), gamma.data(), beta.data(), 1e-5, 2, 3, sum.data(),
               y.data(), mean.data(), rstd.data());
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(sum[i], x[i] + residual[i]);
  LayerNorm(sum.data(), gamma.data(), beta.data(), 1e-5, 2, 3, expected.data(), mean.data(),
            rstd.data());
  EXPECT_EQ(y, expected);
}

TEST(NormalizeImagesTest, PutsPixelsIntoTheirPatches) {
  const ImageShape shape{.samples = 1, .height = 4, .width = 6, .patch = 2};
  std::vector<uint8_t> image(4 * 6 * 3);
  image[(3 * 6 + 4) * 3 + 1] = 255;  // Row 3, column 4, green: patch 5, row 1, column 0.
  const float mean[] = {0, 0.5, 0}, deviation[] = {1, 0.25, 1};
  Values out(image.size());
  NormalizeImages(image.data(), shape, PixelScale::Of(mean, deviation), out.data());
  EXPECT_NEAR(out[5 * 12 + (1 * 2 + 0) * 3 + 1], 2.0, 1e-6);
  EXPECT_NEAR(out[5 * 12 + (0 * 2 + 0) * 3 + 1], -2.0, 1e-6);
  EXPECT_NEAR(out[0], 0.0, 1e-6);
}

// The expected values are worked out by hand. With bias correction, the first step moves by the
// learning rate against the gradient's sign, for any gradient size.
TEST(AdamwTest, FirstStepMovesByTheLearningRate) {
  const double gradient[] = {3.0, -0.01};
  double parameter[] = {1.0, 1.0}, m[] = {0.0, 0.0}, v[] = {0.0, 0.0};
  const auto scalars = AdamwScalars<double>::ForStep(1, 0.1, 0.5, 1.0);
  Adamw(scalars, gradient, 2, parameter, m, v);
  EXPECT_NEAR(parameter[0], 1 - 0.05 - 0.1, 1e-8);
  EXPECT_NEAR(parameter[1], 1 - 0.05 + 0.1, 1e-6);
  EXPECT_NEAR(m[0], 0.3, 1e-15);
  EXPECT_NEAR(v[0], 0.009, 1e-15);
}

TEST(AdamwTest, ScalarsAreThoseOfTheStep) {
  auto s = AdamwScalars<double>::ForStep(2, 0.003, 0.02, 0.25);
  EXPECT_EQ(s.beta1, 0.9);
  EXPECT_EQ(s.beta2, 0.999);
  EXPECT_EQ(s.epsilon, 1e-8);
  EXPECT_EQ(s.learning_rate, 0.003);
  EXPECT_NEAR(s.decay, 6e-5, 1e-18);
  EXPECT_EQ(s.gradient_scale, 0.25);
  EXPECT_NEAR(s.correction1, 1 / (1 - 0.81), 1e-13);
  EXPECT_NEAR(s.sqrt_correction2, 1 / std::sqrt(1 - 0.998001), 1e-10);
  s = AdamwScalars<double>::ForStep(10, 0.0001, 0.1, 1);
  EXPECT_NEAR(s.decay, 1e-5, 1e-18);
  EXPECT_NEAR(s.correction1, 1 / (1 - 0.3486784401), 1e-13);
  EXPECT_NEAR(s.sqrt_correction2, 1 / std::sqrt(1 - 0.990044880209748), 1e-10);
}

TEST(AdamwTest, EpsilonIsBesideTheRoot) {
  const double gradient[] = {1e-8, 3e-8, 0.0};
  double parameter[] = {1.0, 1.0, 1.0}, m[3] = {}, v[3] = {};
  Adamw(AdamwScalars<double>::ForStep(1, 0.1, 0.5, 1.0), gradient, 3, parameter, m, v);
  EXPECT_NEAR(parameter[0], 1 - 0.05 - 0.1 / 2, 1e-9);
  EXPECT_NEAR(parameter[1], 1 - 0.05 - 0.1 * 3 / 4, 1e-9);
  EXPECT_EQ(parameter[2], 1 - 0.05);
}

TEST(BoardFeaturesTest, PutsEachBitInItsPlane) {
  std::vector<uint8_t> record(kPackedBoardBytes);
  auto set = [&](size_t bit) { record[bit / 8] |= uint8_t(0x80 >> bit % 8); };
  set(24 * 5 + 4 * 2 + 3);  // Square 5, type 2, k = 3.
  set(24 * 63 + 4 * 5);     // Square 63, type 5, k = 0.
  set(1536 + 9);            // The last flag.
  Values features(kBoardSquares * kBoardFeatures);
  ExpandPackedBoards(record.data(), 1, features.data());
  Values expected(features.size());
  expected[5 * kBoardFeatures + 6 * 3 + 2] = -1;
  expected[63 * kBoardFeatures + 5] = 1;
  for (size_t square = 0; square < kBoardSquares; ++square) {
    expected[square * kBoardFeatures + kBoardPlanes + 9] = 1;
  }
  EXPECT_EQ(features, expected);
}

TEST(BoardFeaturesTest, JoinsPlanesAndFlags) {
  std::vector<int8_t> planes(kBoardSquares * kBoardPlanes), flags(kBoardFlags);
  planes[kBoardPlanes * 7 + 4] = -1;
  flags[2] = 1;
  Values features(kBoardSquares * kBoardFeatures);
  JoinBoardPlanes(planes.data(), flags.data(), 1, features.data());
  EXPECT_EQ(features[7 * kBoardFeatures + 4], -1);
  EXPECT_EQ(features[63 * kBoardFeatures + kBoardPlanes + 2], 1);
  EXPECT_EQ(Dot(features, features), 1 + 64);
}

}  // namespace
}  // namespace penstock::reference
