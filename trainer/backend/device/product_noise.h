// Numbers for products that are timed.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_NOISE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_NOISE_H_

#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_op.h"

namespace penstock {

// Fills the operands of matrix products with values in [-1, 1), and waits until they are there:
// products of zeros take less power, and so run faster.
absl::Status FillOperands(const std::vector<DeviceOp>& products, Device& device);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_NOISE_H_
