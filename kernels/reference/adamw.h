// Adam with decoupled weight decay (Loshchilov, Hutter, arXiv:1711.05101).
#ifndef PENSTOCK_KERNELS_REFERENCE_ADAMW_H_
#define PENSTOCK_KERNELS_REFERENCE_ADAMW_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace penstock::reference {

// The scalars of one update.
template <typename T>
struct AdamwScalars {
  T beta1, beta2, epsilon;
  T learning_rate;
  // The fraction that a parameter loses: decay rate * lr. Storing one minus this value in float
  // would be off by up to 3e-8, which is a fifth of a decay of 1e-7.
  T decay;
  T gradient_scale;    // 1, or less if the gradient is clipped.
  T correction1;       // 1 / (1 - beta1^step)
  T sqrt_correction2;  // 1 / sqrt(1 - beta2^step)

  // `step` counts from 1.
  static AdamwScalars ForStep(uint64_t step, double learning_rate, double decay_rate,
                              double gradient_scale) {
    const double beta1 = 0.9, beta2 = 0.999;
    const auto exponent = static_cast<double>(step);
    return {T(beta1),
            T(beta2),
            T(1e-8),
            T(learning_rate),
            T(decay_rate * learning_rate),
            T(gradient_scale),
            T(1 / (1 - std::pow(beta1, exponent))),
            T(1 / std::sqrt(1 - std::pow(beta2, exponent)))};
  }
};

// The scalars that change from step to step on a device, which also clips.
struct UpdateScalars {
  // `decay` applies to parameters that decay; for the others the kernel uses 0. `gradient_scale`
  // excludes clipping: it is 1, or one over the factor that the gradient was multiplied by.
  AdamwScalars<float> adamw;
  float clip_norm;  // Largest norm of the scaled gradient; 0 disables clipping.
};

// A step whose gradient has a larger norm before clipping has diverged. The square of an element or
// AdamW's v could overflow a float, and an infinite v would freeze its parameter for ever.
inline constexpr double kLargestGradientNorm = 1e18;

// Decay is on or off for whole runs of this many parameters, the alignment of ParameterTable.
inline constexpr size_t kDecayRun = 16;

// Updates parameter, m and v (count each) from gradient (count).
template <typename T>
void Adamw(const AdamwScalars<T>& s, const T* gradient, size_t count, T* parameter, T* m, T* v) {
  for (size_t i = 0; i < count; ++i) {
    const T g = gradient[i] * s.gradient_scale;
    m[i] = s.beta1 * m[i] + (T(1) - s.beta1) * g;
    v[i] = s.beta2 * v[i] + (T(1) - s.beta2) * g * g;
    const T denominator = std::sqrt(v[i]) * s.sqrt_correction2 + s.epsilon;
    parameter[i] -= s.decay * parameter[i] + s.learning_rate * (m[i] * s.correction1) / denominator;
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_ADAMW_H_
