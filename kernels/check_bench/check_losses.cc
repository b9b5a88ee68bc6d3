#include "kernels/check_bench/check.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/score.h"

namespace penstock::check_bench {
namespace {

// Every third row is padding: its weight is 0.
std::vector<float> Weights(size_t rows) {
  auto weights = Noise<float>(rows, 3);
  for (size_t r = 1; r < rows; r += 3) weights[r] = 0;
  return weights;
}

// Returns logits of magnitude up to `size`, with NaN in the columns from `classes` on.
template <typename T>
std::vector<T> Logits(size_t samples, size_t classes, size_t stride, double size) {
  auto logits = Noise<T>(samples * stride, 1, size);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i % stride >= classes) logits[i] = FromFloat<T>(NAN);
  }
  return logits;
}

std::vector<float> Targets(size_t samples, size_t classes) {
  std::vector<float> targets(samples);
  for (size_t b = 0; b < samples; ++b) targets[b] = float(RandomBits(3, b) % classes);
  return targets;
}

// Returns column 0 (the losses) or 1 (the number of classes ahead of the target) of results
// (samples, 2).
std::vector<double> Column(size_t column, const std::vector<double>& results) {
  std::vector<double> values;
  for (size_t i = column; i < results.size(); i += 2) values.push_back(results[i]);
  return values;
}

// The error of a softmax's probability or its logarithm, for logits of up to `size`. Exponents, and
// the difference between the largest logit and the target's, are up to twice as large as logits;
// each is rounded once. The exponentials add 4 roundings, their sum 9, the logarithm 10, other
// operations 3.
double SoftmaxError(double size) { return (4 * size + 26) * kRounding<float>; }

template <typename T>
void CheckClasses(Checker& checker, size_t samples, size_t classes, size_t stride,
                  double size = 8) {
  checker.Shape(
      {{"samples", samples}, {"classes", classes}, {"stride", stride}, {"logits_up_to", size}});
  DeviceArray<T> logits(Logits<T>(samples, classes, stride, size));
  DeviceArray<float> targets(Targets(samples, classes)), results(2 * samples);
  checker.RunTwice(
      [&] {
        return cuda::Classify(logits.data(), targets.data(), samples, classes, stride,
                              results.data(), nullptr);
      },
      results);
  std::vector<double> expected(2 * samples);
  reference::Classify(ToDoubles(logits.initial()).data(), ToDoubles(targets.initial()).data(),
                      samples, classes, stride, expected.data());
  const auto actual = ToDoubles(results.Read());
  std::vector<float> losses(samples);
  for (size_t b = 0; b < samples; ++b) losses[b] = static_cast<float>(actual[2 * b]);
  checker.Close("losses", losses, Column(0, expected), SoftmaxError(size));
  checker.Equal("classes ahead", Column(1, actual), Column(1, expected));
}

template <typename T>
void CheckCrossEntropy(Checker& checker, size_t samples, size_t classes, size_t stride,
                       double size = 8) {
  checker.Shape(
      {{"samples", samples}, {"classes", classes}, {"stride", stride}, {"logits_up_to", size}});
  auto host_logits = Logits<T>(samples, classes, stride, size);
  auto host_targets = Targets(samples, classes);
  for (size_t b = 1; b < samples; b += 3) {
    std::fill_n(host_logits.begin() + ptrdiff_t(b * stride), stride, FromFloat<T>(NAN));
    host_targets[b] = -1;
  }
  DeviceArray<T> logits(host_logits);
  DeviceArray<T> gradient(std::vector<T>(samples * stride, FromFloat<T>(7)));
  DeviceArray<float> targets(host_targets), weight(Weights(samples));
  checker.RunTwice(
      [&] {
        return cuda::SoftmaxCrossEntropyBackward(logits.data(), targets.data(), weight.data(),
                                                 samples, classes, stride, gradient.data(),
                                                 nullptr);
      },
      gradient);
  std::vector<double> expected(samples * stride);
  reference::SoftmaxCrossEntropyBackward(
      ToDoubles(logits.initial()).data(), ToDoubles(targets.initial()).data(),
      ToDoubles(weight.initial()).data(), samples, classes, stride, expected.data());
  checker.Close("dlogits", gradient.Read(), expected, SoftmaxError(size));
}

// The columns `equals`, in ascending order, hold a row's largest logit. A lane has every 32nd
// column.
void CheckEquals(Checker& checker, const std::vector<size_t>& equals) {
  std::vector<float> row(100, -9.0f);
  for (size_t c : equals) row[c] = -5;
  DeviceArray<float> logits(row), results(2);
  for (size_t i = 0; i < equals.size(); ++i) {
    DeviceArray<float> target(std::vector<float>{float(equals[i])});
    Require(cuda::Classify(logits.data(), target.data(), 1, row.size(), row.size(), results.data(),
                           nullptr),
            "classify");
    checker.True("the lower of equals is ahead", results.Read()[1] == static_cast<float>(i));
  }
}

// `target` belongs to the second of two samples.
void CheckForeignTarget(Checker& checker, float target) {
  constexpr size_t kClasses = 3, kStride = 4;
  DeviceArray<float> logits(std::vector<float>{0, 1, 2, NAN, 3, 5, 4, NAN}), gradient(2 * kStride);
  DeviceArray<float> weight(std::vector<float>{1, 1}), results(4);
  DeviceArray<float> targets(std::vector<float>{1, target});
  Require(
      cuda::Classify(logits.data(), targets.data(), 2, kClasses, kStride, results.data(), nullptr),
      "classify");
  Require(cuda::SoftmaxCrossEntropyBackward(logits.data(), targets.data(), weight.data(), 2,
                                            kClasses, kStride, gradient.data(), nullptr),
          "cross-entropy");
  const auto r = results.Read(), d = gradient.Read();
  checker.True("only the row with the foreign target has a NaN loss",
               std::isfinite(r[0]) && std::isnan(r[2]));
  checker.True("the foreign target has the last rank", r[1] == 1 && r[3] == kClasses);
  checker.True("only the row with the foreign target has a NaN gradient",
               std::isfinite(d[0]) && std::isnan(d[4]) && std::isnan(d[5]) && std::isnan(d[6]));
  checker.True("padding columns are zero", d[3] == 0 && d[7] == 0);
}

void CheckRefused(Checker& checker, size_t classes, size_t stride) {
  DeviceArray<float> x(8);
  checker.True("Classify()", cuda::Classify(x.data(), x.data(), 1, classes, stride, x.data(),
                                            nullptr) == cudaErrorInvalidValue);
  checker.True("SoftmaxCrossEntropyBackward()",
               cuda::SoftmaxCrossEntropyBackward(x.data(), x.data(), x.data(), 1, classes, stride,
                                                 x.data(), nullptr) == cudaErrorInvalidValue);
}

template <typename T>
void CheckScore(Checker& checker, size_t rows, size_t stride, double size = 1) {
  checker.Shape({{"rows", rows}, {"stride", stride}, {"scores_up_to", size}});
  DeviceArray<T> scores(Noise<T>(rows * stride, 1, size)), dscores(rows * stride);
  DeviceArray<float> prediction(rows), target(Noise<float>(rows, 2)), weight(Weights(rows));
  checker.RunTwice(
      [&] { return cuda::Score(scores.data(), stride, rows, prediction.data(), nullptr); },
      prediction);
  std::vector<double> expected(rows), gradient(rows * stride);
  reference::Score(ToDoubles(scores.initial()).data(), stride, rows, expected.data());
  // tanh is off by two units in the last place, which are up to four roundings.
  checker.Close("prediction", prediction.Read(), expected, 4 * kRounding<float>);
  checker.RunTwice(
      [&] {
        return cuda::ScoreBackward(prediction.data(), target.data(), weight.data(), rows, stride,
                                   dscores.data(), nullptr);
      },
      dscores);
  const auto p = ToDoubles(prediction.Read());
  reference::ScoreBackward(p.data(), ToDoubles(target.initial()).data(),
                           ToDoubles(weight.initial()).data(), rows, stride, gradient.data());
  // Three products and a difference have 4 roundings. Where p is nearly 1, 1 - p * p adds half a
  // rounding of 1, times 2 |p - target| |weight| < 4.
  checker.Close("dscores", dscores.Read(), gradient,
                (4 + 2 / RootMeanSquare(gradient)) * kRounding<float>);
}

template <typename T>
void CheckAll(Checker& checker) {
  const std::string of = NameOf<T>();
  if (checker.Begin("loss_score/" + of)) {
    CheckScore<T>(checker, 1, 8);
    CheckScore<T>(checker, 300, 8);
    CheckScore<T>(checker, 300, 8, 5);  // Here tanh is nearly 1 and its slope is small.
  }
  if (checker.Begin("loss_classes/" + of)) {
    CheckClasses<T>(checker, 1, 2, 8);
    CheckClasses<T>(checker, 37, 101, 104);
    CheckClasses<T>(checker, 37, 33, 33);
    CheckClasses<T>(checker, 37, 101, 104, 200);  // e^200 overflows a float.
  }
  if (checker.Begin("loss_cross_entropy/" + of)) {
    CheckCrossEntropy<T>(checker, 1, 2, 8);
    CheckCrossEntropy<T>(checker, 37, 101, 104);
    CheckCrossEntropy<T>(checker, 37, 33, 33);
    CheckCrossEntropy<T>(checker, 37, 101, 104, 200);
  }
}

}  // namespace

void CheckLosses(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
  if (checker.Begin("loss_classes/equals")) {
    CheckEquals(checker, {0, 99});
    CheckEquals(checker, {2, 34, 66});
    CheckEquals(checker, {40, 65, 97});
  }
  if (checker.Begin("loss_target_of_no_class")) {
    for (float target : {3.0f, -1.0f, 0.5f, INFINITY, NAN}) CheckForeignTarget(checker, target);
  }
  if (checker.Begin("loss_classes/refused")) {
    CheckRefused(checker, 0, 8);
    CheckRefused(checker, 9, 8);
    CheckRefused(checker, (size_t{1} << 24) + 1, size_t{1} << 25);
  }
}

}  // namespace penstock::check_bench
