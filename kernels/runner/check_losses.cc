#include "kernels/cuda/loss.h"
#include "kernels/cuda/score.h"
#include "kernels/runner/check.h"

namespace penstock::runner {
namespace {

// Every third row is padding: without a weight, and never read.
std::vector<float> Weights(size_t rows) {
  auto weights = Noise<float>(rows, 3);
  for (size_t r = 1; r < rows; r += 3) weights[r] = 0;
  return weights;
}

template <typename T>
void CheckSquaredError(Checker& checker, size_t rows) {
  DeviceArray<T> prediction(Noise<T>(rows, 1)), gradient(std::vector<T>(rows, FromFloat<T>(7)));
  std::vector<float> targets = Noise<float>(rows, 2);
  for (size_t r = 1; r < rows; r += 3) targets[r] = NAN;
  DeviceArray<float> target(targets), weight(Weights(rows));
  DeviceArray<double> sum(1);
  checker.RunTwice(
      [&] {
        return cuda::SquaredError(prediction.data(), target.data(), weight.data(), rows, sum.data(),
                                  gradient.data(), nullptr);
      },
      sum, gradient);
  const auto p = ToDoubles(prediction.initial()), t = ToDoubles(target.initial()),
             w = ToDoubles(weight.initial());
  std::vector<double> expected(rows);
  const double loss = reference::SquaredError(p.data(), t.data(), w.data(), rows, expected.data());
  checker.Close("dprediction", gradient.Read(), expected, kRounding<T> + 4 * kRounding<float>);
  // Differences are rounded to float; their squares and sum are not.
  checker.Close("sum", sum.Read(), {loss}, 4 * kRounding<float>);
}

// Logits are up to `size`.
template <typename T>
void CheckCrossEntropy(Checker& checker, size_t samples, size_t classes, double size = 8) {
  DeviceArray<T> logits(Noise<T>(samples * classes, 1, size));
  DeviceArray<T> gradient(std::vector<T>(samples * classes, FromFloat<T>(7)));
  DeviceArray<float> workspace(samples), weight(Weights(samples));
  DeviceArray<double> sum(1);
  std::vector<int32_t> host_labels(samples);
  for (size_t i = 0; i < samples; ++i) {
    host_labels[i] = i % 3 == 1 ? -1 : int32_t(RandomBits(3, i) % classes);
  }
  DeviceArray<int32_t> labels(host_labels);
  checker.RunTwice(
      [&] {
        return cuda::SoftmaxCrossEntropy(logits.data(), labels.data(), weight.data(), samples,
                                         classes, sum.data(), gradient.data(), workspace.data(),
                                         nullptr);
      },
      sum, gradient);
  std::vector<double> expected(samples * classes);
  const double loss = reference::SoftmaxCrossEntropy(
      ToDoubles(logits.initial()).data(), host_labels.data(), ToDoubles(weight.initial()).data(),
      samples, classes, expected.data());
  // The exponent's argument is up to twice `size`, so its rounding is as many times that of the
  // result.
  checker.Close("dlogits", gradient.Read(), expected, kRounding<T> + 8 * size * kRounding<float>);
  // Each is a difference of numbers that large, and may be small.
  checker.Close("sum", sum.Read(), {loss}, 8 * size * kRounding<float>);
}

// Of label `label` among labels that are right.
void CheckForeignLabel(Checker& checker, int32_t label) {
  DeviceArray<float> logits(Noise<float>(2 * 3, 1)), gradient(6), workspace(2);
  DeviceArray<float> weight(std::vector<float>{1, 1});
  DeviceArray<int32_t> labels(std::vector<int32_t>{1, label});
  DeviceArray<double> sum(1);
  Require(cuda::SoftmaxCrossEntropy(logits.data(), labels.data(), weight.data(), 2, 3, sum.data(),
                                    gradient.data(), workspace.data(), nullptr),
          "loss");
  const auto d = gradient.Read();
  checker.True("the sum is NaN", std::isnan(sum.Read()[0]));
  checker.True("so is its gradient, and no other", std::isfinite(d[0]) && std::isnan(d[5]));
}

template <typename T>
void CheckScore(Checker& checker, size_t rows, size_t stride, double size = 1) {
  DeviceArray<T> scores(Noise<T>(rows * stride, 1, size)), dscores(rows * stride);
  DeviceArray<float> prediction(rows), target(Noise<float>(rows, 2)), weight(Noise<float>(rows, 3));
  checker.RunTwice(
      [&] { return cuda::Score(scores.data(), stride, rows, prediction.data(), nullptr); },
      prediction);
  std::vector<double> expected(rows), gradient(rows * stride);
  reference::Score(ToDoubles(scores.initial()).data(), stride, rows, expected.data());
  checker.Close("prediction", prediction.Read(), expected, 8 * kRounding<float>);
  checker.RunTwice(
      [&] {
        return cuda::ScoreBackward(prediction.data(), target.data(), weight.data(), rows, stride,
                                   dscores.data(), nullptr);
      },
      dscores);
  const auto p = ToDoubles(prediction.Read());
  reference::ScoreBackward(p.data(), ToDoubles(target.initial()).data(),
                           ToDoubles(weight.initial()).data(), rows, stride, gradient.data());
  checker.Close("dscores", dscores.Read(), gradient, kRounding<T> + 16 * kRounding<float>);
}

template <typename T>
void CheckAll(Checker& checker) {
  const std::string of = NameOf<T>();
  if (checker.Begin("loss_squared_error/" + of)) {
    CheckSquaredError<T>(checker, 1);
    CheckSquaredError<T>(checker, 2500);
  }
  if (checker.Begin("loss_score/" + of)) {
    CheckScore<T>(checker, 1, 8);
    CheckScore<T>(checker, 300, 8);
    CheckScore<T>(checker, 300, 8, 5);  // Where tanh is nearly 1 and its slope small.
  }
  if (checker.Begin("loss_cross_entropy/" + of)) {
    CheckCrossEntropy<T>(checker, 1, 2);
    CheckCrossEntropy<T>(checker, 37, 101);
    CheckCrossEntropy<T>(checker, 37, 101, 200);  // e^200 is no float.
  }
}

}  // namespace

void CheckLosses(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
  if (checker.Begin("loss_label_of_no_class")) {
    CheckForeignLabel(checker, 3);
    CheckForeignLabel(checker, -1);
  }
}

}  // namespace penstock::runner
