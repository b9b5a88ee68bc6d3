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
  long double squares = 0;  // A sum of 5,003 doubles is less exact than the kernel's.
  for (double g : ToDoubles(c.gradient.initial())) squares += static_cast<long double>(g) * g;
  const auto expected = static_cast<double>(std::sqrt(squares));
  // A value takes part in up to 40 additions in double.
  checker.Close("norm", c.norm.Read(), {expected}, 40 * 0x1p-53);
  return expected;
}

// A parameter and its moments, or an array of each.
template <typename T>
struct State {
  T parameter, m, v;
};

// The reference's results in double, and how far the kernel's may be from them.
struct Expected {
  State<std::vector<double>> result, error;
};

// The errors of one parameter, which goes from `old` to `result` by the gradient g. An update has
// about ten operations.
State<double> ErrorsOf(const reference::AdamwScalars<double>& s, double g, const State<double>& old,
                       const State<double>& result) {
  constexpr double kUnit = kRounding<float>, kVanished = 0x1p-126;
  // The errors of beta1 and beta2 as floats. The weights of g and of g * g have the same errors.
  const double beta1 = std::abs(static_cast<float>(s.beta1) - s.beta1);
  const double beta2 = std::abs(static_cast<float>(s.beta2) - s.beta2);
  const double m = beta1 * std::abs(old.m - g) +
                   5 * kUnit * (s.beta1 * std::abs(old.m) + (1 - s.beta1) * std::abs(g));
  const double v = beta2 * std::abs(old.v - g * g) + 8 * kUnit * result.v;
  const double step =
      s.learning_rate * s.correction1 / (std::sqrt(result.v) * s.sqrt_correction2 + s.epsilon);
  const double of_root = result.v > 0 ? v / (2 * result.v) : 0;
  const double update = step * (m + std::abs(result.m) * (of_root + 10 * kUnit)) +
                        3 * kUnit * std::abs(s.decay * old.parameter);
  return {update + kUnit * std::abs(result.parameter), m + kVanished, v + kVanished};
}

Expected Update(const Case& c, const Rates& rates, double gradient_scale) {
  Expected e;
  State<std::vector<double>>& r = e.result;
  r = {ToDoubles(c.parameter.initial()), ToDoubles(c.m.initial()), ToDoubles(c.v.initial())};
  const auto gradient = ToDoubles(c.gradient.initial());
  for (size_t at = 0; at < c.count(); at += cuda::kDecayRun) {
    const double decay = c.decays.initial()[at / cuda::kDecayRun] != 0 ? rates.decay_rate : 0.0;
    const auto scalars = reference::AdamwScalars<double>::ForStep(rates.step, rates.learning_rate,
                                                                  decay, gradient_scale);
    for (size_t i = at; i < std::min(at + cuda::kDecayRun, c.count()); ++i) {
      const State<double> old{r.parameter[i], r.m[i], r.v[i]};
      reference::Adamw(scalars, &gradient[i], 1, &r.parameter[i], &r.m[i], &r.v[i]);
      const State<double> error =
          ErrorsOf(scalars, gradient[i] * gradient_scale, old, {r.parameter[i], r.m[i], r.v[i]});
      e.error.parameter.push_back(error.parameter);
      e.error.m.push_back(error.m);
      e.error.v.push_back(error.v);
    }
  }
  return e;
}

cudaError_t Launch(Case& c, const DeviceArray<cuda::UpdateScalars>& scalars,
                   const DeviceArray<double>& norm) {
  return cuda::Adamw(scalars.data(), norm.data(), c.decays.data(), c.gradient.data(), c.count(),
                     c.parameter.data(), c.m.data(), c.v.data(), c.copy.data(), nullptr);
}

Expected CheckCase(Checker& checker, Case& c, const Rates& rates) {
  checker.Shape({{"parameters", c.count()}});
  const double norm = CheckNorm(checker, c), clip_norm = rates.clip_norm;
  DeviceArray<cuda::UpdateScalars> scalars(std::vector<cuda::UpdateScalars>{
      {reference::AdamwScalars<float>::ForStep(rates.step, rates.learning_rate, rates.decay_rate,
                                               kScale),
       static_cast<float>(clip_norm)}});
  DeviceArray<double> device_norm(std::vector<double>{norm});
  checker.RunTwice([&] { return Launch(c, scalars, device_norm); }, c.parameter, c.m, c.v, c.copy);
  const bool clip = clip_norm > 0 && norm * kScale > clip_norm;
  const Expected e = Update(c, rates, clip ? clip_norm / norm : kScale);
  checker.Within("parameter", c.parameter.Read(), e.result.parameter, e.error.parameter);
  checker.Within("m", c.m.Read(), e.result.m, e.error.m);
  checker.Within("v", c.v.Read(), e.result.v, e.error.v);
  // The copy has only the last rounding.
  checker.Close("copy", c.copy.Read(), ToDoubles(c.parameter.Read()), 0);
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
    sum += (actual[i] - e.result.parameter[i]) / e.result.parameter[i];
    ++count;
  }
  // The rounding of one parameter has a standard deviation of 0.42 units; the mean over 2,500 of
  // them has a fiftieth of that. The error is within three deviations.
  checker.Bound("mean error of decay", std::abs(sum / double(count)),
                3 * 0.42 / 50 * kRounding<float>);
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
