#include "kernels/simt/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace penstock::simt {
namespace {

constexpr int kFractionBits = 23, kLeastExponent = -126;

// Returns the exponent of x. Subnormal numbers count as the smallest normal one.
int ExponentOf(float x) {
  const int biased = static_cast<int>(std::bit_cast<uint32_t>(x) >> kFractionBits & 0xff);
  return std::max(biased - 127, kLeastExponent);
}

// Returns x cut off to a float.
float Truncated(double x) {
  const auto rounded = static_cast<float>(x);
  return std::abs(double{rounded}) > std::abs(x) ? std::nextafter(rounded, 0.0f) : rounded;
}

// Returns c plus a group of products of x and y.
float AddGroup(const TensorCore& core, float c, const float* x, const float* y) {
  double products[16], exact = c;
  // A product's exponent is the sum of its factors' exponents, so its significand is below 4.
  int largest = c == 0 ? core.least_exponent : ExponentOf(c);
  for (int i = 0; i < core.group; ++i) {
    exact += products[i] = double{x[i]} * double{y[i]};
    if (products[i] != 0) largest = std::max(largest, ExponentOf(x[i]) + ExponentOf(y[i]));
  }
  if (!std::isfinite(exact)) return static_cast<float>(exact);
  const int last = std::max(largest, core.least_exponent) - kFractionBits - core.extra_bits;
  const double per_unit = std::ldexp(1.0, -last);
  auto units = static_cast<int64_t>(c * per_unit);
  for (int i = 0; i < core.group; ++i) units += static_cast<int64_t>(products[i] * per_unit);
  return Truncated(std::ldexp(static_cast<double>(units), last));
}

}  // namespace

float AddProductsOn(const TensorCore& core, float c, const float (&x)[16], const float (&y)[16]) {
  float sum = c;
  for (int i = 0; i < 16; i += core.group) {
    sum = AddGroup(core, sum, x + i, y + i);
  }
  return sum;
}

}  // namespace penstock::simt
