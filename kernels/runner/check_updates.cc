#include "kernels/cuda/adamw.h"
#include "kernels/runner/check.h"

namespace penstock::runner {
namespace {

constexpr double kLearningRate = 0.01, kDecayRate = 0.1;
constexpr uint64_t kStep = 3;

struct Case {
  explicit Case(size_t count)
      : gradient(Noise<float>(count, 1)),
        parameter(Noise<float>(count, 2)),
        m(Noise<float>(count, 3)),
        v(Squares(count)),
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

// Of doubles, through the reference, run by run.
struct Expected {
  std::vector<double> parameter, m, v;
};

Expected Update(const Case& c, double gradient_scale) {
  Expected e{ToDoubles(c.parameter.initial()), ToDoubles(c.m.initial()), ToDoubles(c.v.initial())};
  const auto gradient = ToDoubles(c.gradient.initial());
  for (size_t at = 0; at < c.count(); at += cuda::kDecayRun) {
    const double decay = c.decays.initial()[at / cuda::kDecayRun] != 0 ? kDecayRate : 0.0;
    const auto scalars =
        reference::AdamwScalars<double>::ForStep(kStep, kLearningRate, decay, gradient_scale);
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

void CheckAdamw(Checker& checker, size_t count, double clip_norm) {
  Case c(count);
  const double norm = CheckNorm(checker, c), scale = 0.5;
  DeviceArray<cuda::UpdateScalars> scalars(std::vector<cuda::UpdateScalars>{
      {reference::AdamwScalars<float>::ForStep(kStep, kLearningRate, kDecayRate, scale),
       static_cast<float>(clip_norm)}});
  DeviceArray<double> device_norm(std::vector<double>{norm});
  checker.RunTwice([&] { return Launch(c, scalars, device_norm); }, c.parameter, c.m, c.v, c.copy);
  const bool clip = clip_norm > 0 && norm * scale > clip_norm;
  const Expected e = Update(c, clip ? clip_norm / norm : scale);
  // Some ten operations in float. v's beta2 is 0.999 in float: off by 2e-8, of 1 - beta2 2e-5.
  checker.Close("parameter", c.parameter.Read(), e.parameter, 1e-5);
  checker.Close("m", c.m.Read(), e.m, 1e-6);
  checker.Close("v", c.v.Read(), e.v, 1e-5);
  checker.Close("copy", c.copy.Read(), ToDoubles(c.parameter.Read()), kRounding<Bf16>);
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
  if (checker.Begin("update_adamw/one")) CheckAdamw(checker, 1, 0);
  if (checker.Begin("update_adamw/unclipped")) CheckAdamw(checker, 5003, 1e6);
  if (checker.Begin("update_adamw/clipped")) CheckAdamw(checker, 5003, 0.5);
  if (checker.Begin("update_adamw/norm_of_nan")) CheckDivergedNorm(checker, std::nan(""));
  if (checker.Begin("update_adamw/norm_of_infinity")) CheckDivergedNorm(checker, INFINITY);
  if (checker.Begin("update_adamw/norm_too_large")) {
    CheckDivergedNorm(checker, std::nextafter(cuda::kLargestGradientNorm, INFINITY));
  }
}

}  // namespace penstock::runner
