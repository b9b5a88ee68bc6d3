#include "kernels/check_bench/check.h"
#include "kernels/cuda/adamw.h"

namespace penstock::check_bench {
namespace {

constexpr double kScale = 0.5;

// The hyperparameters of one check.
struct Rates {
  uint64_t step = 3;
  double learning_rate = 0.01, decay_rate = 0.1;
  double clip_norm = 0;
};

struct Case {
  // Gradients are up to `size`. `has_moments` is false before the first step: moments are then
  // zero.
  explicit Case(size_t count, double size = 1, bool has_moments = true)
      : gradient(Noise<float>(count, 1, size)),
        parameter(Noise<float>(count, 2)),
        m(has_moments ? Noise<float>(count, 3) : std::vector<float>(count)),
        v(has_moments ? Squares(count) : std::vector<float>(count)),
        copy(count),
        decays(EveryOther(count)),
        norm(1),
        workspace(cuda::GradientNormWorkspace(count)) {}

  static std::vector<float> Squares(size_t count) {
    auto values = Noise<float>(count, 4);
    for (float& x : values) x *= x;
    return values;
  }
  static std::vector<uint8_t> EveryOther(size_t count) {
    std::vector<uint8_t> decays((count + cuda::kDecayRun - 1) / cuda::kDecayRun);
    for (size_t i = 0; i < decays.size(); ++i) decays[i] = i % 2 == 0;
    return decays;
  }
  size_t count() const { return gradient.size(); }

  DeviceArray<float> gradient, parameter, m, v;
  DeviceArray<Bf16> copy;
  DeviceArray<uint8_t> decays;
  DeviceArray<double> norm, workspace;
};

double CheckNorm(Checker& checker, Case& c) {
  checker.RunTwice(
      [&] {
        return cuda::GradientNorm(c.gradient.data(), c.count(), c.norm.data(), c.workspace.data(),
                                  nullptr);
      },
      c.norm);
  double squares = 0;
  for (double g : ToDoubles(c.gradient.initial())) squares += g * g;
  checker.Close("norm", c.norm.Read(), {std::sqrt(squares)}, 1e-13);
  return std::sqrt(squares);
}

// The reference's results in double, updated run by run.
struct Expected {
  std::vector<double> parameter, m, v;
};

Expected Update(const Case& c, const Rates& rates, double gradient_scale) {
  Expected e{ToDoubles(c.parameter.initial()), ToDoubles(c.m.initial()), ToDoubles(c.v.initial())};
  const auto gradient = ToDoubles(c.gradient.initial());
  for (size_t at = 0; at < c.count(); at += cuda::kDecayRun) {
    const double decay = c.decays.initial()[at / cuda::kDecayRun] != 0 ? rates.decay_rate : 0.0;
    const auto scalars = reference::AdamwScalars<double>::ForStep(rates.step, rates.learning_rate,
                                                                  decay, gradient_scale);
    reference::Adamw(scalars, gradient.data() + at, std::min(cuda::kDecayRun, c.count() - at),
                     e.parameter.data() + at, e.m.data() + at, e.v.data() + at);
  }
  return e;
}

cudaError_t Launch(Case& c, const DeviceArray<cuda::UpdateScalars>& scalars,
                   const DeviceArray<double>& norm) {
  return cuda::Adamw(scalars.data(), norm.data(), c.decays.data(), c.gradient.data(), c.count(),
                     c.parameter.data(), c.m.data(), c.v.data(), c.copy.data(), nullptr);
}

Expected CheckCase(Checker& checker, Case& c, const Rates& rates) {
  const double norm = CheckNorm(checker, c), clip_norm = rates.clip_norm;
  DeviceArray<cuda::UpdateScalars> scalars(std::vector<cuda::UpdateScalars>{
      {reference::AdamwScalars<float>::ForStep(rates.step, rates.learning_rate, rates.decay_rate,
                                               kScale),
       static_cast<float>(clip_norm)}});
  DeviceArray<double> device_norm(std::vector<double>{norm});
  checker.RunTwice([&] { return Launch(c, scalars, device_norm); }, c.parameter, c.m, c.v, c.copy);
  const bool clip = clip_norm > 0 && norm * kScale > clip_norm;
  const Expected e = Update(c, rates, clip ? clip_norm / norm : kScale);
  // The kernel does about ten operations in float. As a float, beta2 = 0.999 is off by 2e-8, which
  // is 2e-5 of 1 - beta2.
  checker.Close("parameter", c.parameter.Read(), e.parameter, 1e-5);
  checker.Close("m", c.m.Read(), e.m, 1e-6);
  checker.Close("v", c.v.Read(), e.v, 2e-5);
  checker.Close("copy", c.copy.Read(), ToDoubles(c.parameter.Read()), kRounding<Bf16>);
  return e;
}

void CheckAdamw(Checker& checker, size_t count, const Rates& rates) {
  Case c(count);
  CheckCase(checker, c, rates);
}

// A decay of 1e-7 a step is as small as a parameter's rounding, but must be right on average.
void CheckSmallDecay(Checker& checker) {
  Case c(5003);
  const Expected e = CheckCase(checker, c, {.learning_rate = 1e-6});
  const auto actual = ToDoubles(c.parameter.Read());
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < c.count(); ++i) {
    if (c.decays.initial()[i / cuda::kDecayRun] == 0) continue;
    sum += (actual[i] - e.parameter[i]) / e.parameter[i];
    ++count;
  }
  // 2e-8 is the mean rounding error of one parameter; the mean over 2,500 of them is smaller.
  checker.Bound("mean error of decay", std::abs(sum / double(count)), 3e-9);
}

// Checks the first step, with gradients near epsilon and then all zero.
void CheckEpsilon(Checker& checker) {
  Case c(500, 4e-8, /*has_moments=*/false);
  CheckCase(checker, c, {.step = 1});
  Case zero(500, 0, /*has_moments=*/false);
  CheckCase(checker, zero, {.step = 1});
}

void CheckDivergedNorm(Checker& checker, double norm) {
  Case c(100);
  DeviceArray<cuda::UpdateScalars> scalars(
      std::vector<cuda::UpdateScalars>{{reference::AdamwScalars<float>::ForStep(1, 1, 1, 1), 1}});
  DeviceArray<double> device_norm(std::vector<double>{norm});
  Require(Launch(c, scalars, device_norm), "adamw");
  checker.True("nothing has changed", c.parameter.Read() == c.parameter.initial() &&
                                          c.m.Read() == c.m.initial() &&
                                          c.v.Read() == c.v.initial());
  Require(cuda::GradientNorm(c.gradient.data(), c.count(), device_norm.data(), c.workspace.data(),
                             nullptr),
          "norm");
  const double kept = device_norm.Read()[0];
  checker.True("the norm stays as it is", kept == norm || (std::isnan(kept) && std::isnan(norm)));
}

}  // namespace

void CheckUpdates(Checker& checker) {
  if (checker.Begin("update_adamw/one")) CheckAdamw(checker, 1, {});
  if (checker.Begin("update_adamw/unclipped")) CheckAdamw(checker, 5003, {.clip_norm = 1e6});
  if (checker.Begin("update_adamw/clipped")) CheckAdamw(checker, 5003, {.clip_norm = 0.5});
  // The gradient's norm is 41; the scaled gradient's norm is 20. Only the latter counts for
  // clipping.
  if (checker.Begin("update_adamw/clip_between")) CheckAdamw(checker, 5003, {.clip_norm = 30});
  if (checker.Begin("update_adamw/small_decay")) CheckSmallDecay(checker);
  if (checker.Begin("update_adamw/epsilon")) CheckEpsilon(checker);
  if (checker.Begin("update_adamw/norm_of_nan")) CheckDivergedNorm(checker, std::nan(""));
  if (checker.Begin("update_adamw/norm_of_infinity")) CheckDivergedNorm(checker, INFINITY);
  if (checker.Begin("update_adamw/norm_too_large")) {
    CheckDivergedNorm(checker, std::nextafter(cuda::kLargestGradientNorm, INFINITY));
  }
}

}  // namespace penstock::check_bench
