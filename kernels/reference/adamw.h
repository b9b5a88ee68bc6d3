// Adam with decoupled weight decay (Loshchilov, Hutter, arXiv:1711.05101).
#ifndef PENSTOCK_KERNELS_REFERENCE_ADAMW_H_
#define PENSTOCK_KERNELS_REFERENCE_ADAMW_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace penstock::reference {

// What one update needs besides the arrays.
template <typename T>
struct AdamwScalars {
  T beta1, beta2, epsilon;
  T learning_rate;
  // What a parameter loses of itself: decay rate * lr. One minus that, in float, would be off by up
  // to 3e-8: where the decay is 1e-7, by a fifth of it.
  T decay;
  T gradient_scale;    // 1, or less when the norm is clipped.
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

// What changes from step to step where a device also clips.
struct UpdateScalars {
  // `decay` holds for parameters that decay, the others' is 0; `gradient_scale` comes
  // before clipping: 1, or one over what the gradient was multiplied by.
  AdamwScalars<float> adamw;
  float clip_norm;  // Of the scaled gradient; 0: none.
};

// A step whose gradient has a larger norm, before clipping, has diverged: an element's square or
// AdamW's v might be more than a float, and an infinite v would hold its parameter for ever.
inline constexpr double kLargestGradientNorm = 1e18;

// Parameters decay or not in runs of this many, as ParameterTable aligns them.
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
