// How fast a device multiplies a model's matrices by themselves: what the rate of whole steps is
// held against.
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

// Products of the same numbers.
struct ProductRate {
  using Time = std::chrono::duration<double>;

  DeviceOpKind kind = DeviceOpKind::kLinear;
  size_t rows = 0, in = 0, out = 0;
  size_t count = 0;  // Of a shard's forward and backward pass.
  Time time = {};    // Of one.
  // Of one that ends in a GELU: the plain product and the GELU's own kernel, one after the other.
  std::optional<Time> apart = std::nullopt;

  double flops() const { return 2.0 * static_cast<double>(rows) * double(in) * double(out); }
};

// Of a shard of `samples`, on arbitrary numbers, each product as a training runs it,
// `repeats` times in a row. The errors of DeviceProgram::Build() and of the device.
absl::StatusOr<std::vector<ProductRate>> MeasureProducts(const ModelConfig& config, size_t samples,
                                                         bool bf16, size_t repeats, Device& device);

// Of all of them together, in floating-point operations a second.
double RateOf(const std::vector<ProductRate>& products);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_RATES_H_
