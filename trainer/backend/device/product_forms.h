// Other forms of matrix products, for libraries that lack one.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_FORMS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_FORMS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "trainer/backend/device/device_op.h"

namespace penstock {

// All that the choice of an algorithm may depend on. Products with equal keys are run alike.
struct ProductKey {
  DeviceOpKind kind = DeviceOpKind::kLinear;
  bool bf16 = false;
  bool residual = false;
  size_t rows = 0, in = 0, out = 0;

  static ProductKey Of(const DeviceOp& op);
  std::string name() const;  // "linear bf16 128x40x32"
  auto operator<=>(const ProductKey&) const = default;
};

bool HasResidual(const DeviceOp& op);

// A product that ends in more than a bias, as a plainer product followed by a kernel. Both use the
// operands and the workspace of `op`. In bf16, the result is also rounded between the two. Empty:
// `op` is plain.
std::vector<DeviceOp> PartsOf(const DeviceOp& op);

// The kernel of ours for a plain product with 8 outputs, the padded width of a score. nullopt: `op`
// is another product.
std::optional<DeviceOp> NarrowKernelOf(const DeviceOp& op);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_PRODUCT_FORMS_H_
