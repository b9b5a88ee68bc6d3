// Measures how fast a device computes a model's matrix products alone, for comparison with the rate
// of whole steps.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_RATES_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_RATES_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_op.h"
#include "trainer/model/model_config.h"

namespace penstock {

// Products of the same sizes.
struct ProductRate {
  using Time = std::chrono::duration<double>;

  DeviceOpKind kind = DeviceOpKind::kLinear;
  size_t rows = 0, in = 0, out = 0;
  size_t count = 0;  // Occurrences in a shard's forward and backward pass.
  Time time = {};    // Time of one product.
  // Set for a product fused with GELU: the time of the plain product and GELU's own kernel, one
  // after the other.
  std::optional<Time> apart = std::nullopt;

  double flops() const { return 2.0 * static_cast<double>(rows) * double(in) * double(out); }
};

// Measures each product of a shard of `samples`, run in the fastest way, `repeats` times in a row
// on arbitrary numbers. Errors are those of DeviceProgram::Build() and of the device.
absl::StatusOr<std::vector<ProductRate>> MeasureProducts(const ModelConfig& config, size_t samples,
                                                         bool bf16, size_t repeats, Device& device);

// The combined rate of all products, in floating-point operations per second.
double RateOf(const std::vector<ProductRate>& products);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_RATES_H_
