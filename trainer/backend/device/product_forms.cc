#include "trainer/backend/device/product_forms.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/geometry.h"

namespace penstock {
namespace {

DeviceOperand With(DeviceOperand operand, Access access) {
  operand.access = access;
  return operand;
}

// Returns a product of the sizes and the type of `op`.
DeviceOp Product(const DeviceOp& op, DeviceOpKind kind, std::vector<DeviceOperand> operands) {
  DeviceOp product = op;
  product.kind = kind;
  product.operands = std::move(operands);
  return product;
}

DeviceOp Kernel(const DeviceOp& op, DeviceOpKind kind, size_t count,
                std::vector<DeviceOperand> operands) {
  return {.kind = kind,
          .bf16 = op.bf16,
          .samples = op.samples,
          .rows = op.rows,
          .in = count / op.rows,
          .count = count,
          .gelu = op.gelu,
          .operands = std::move(operands)};
}

}  // namespace

ProductKey ProductKey::Of(const DeviceOp& op) {
  return {op.kind, op.bf16, HasResidual(op), op.rows, op.in, op.out};
}

std::string ProductKey::name() const {
  return absl::StrCat(DeviceOpName(kind), bf16 ? " bf16 " : " fp32 ", residual ? "onto " : "", rows,
                      "x", in, "x", out);
}

bool HasResidual(const DeviceOp& op) {
  return op.kind == DeviceOpKind::kLinear && op.operands.size() > 4;
}

std::vector<DeviceOp> PartsOf(const DeviceOp& op) {
  const std::vector<DeviceOperand>& all = op.operands;
  if (op.kind == DeviceOpKind::kLinearGelu) {
    return {
        Product(op, DeviceOpKind::kLinear, {all[0], all[1], all[2], all[3]}),
        Kernel(op, DeviceOpKind::kGelu, op.rows * op.out, {With(all[3], Access::kRead), all[4]})};
  }
  if (op.kind == DeviceOpKind::kLinearBackwardGelu) {
    return {Product(op, DeviceOpKind::kLinearBackwardInput, {all[0], all[1], all[3]}),
            Kernel(op, DeviceOpKind::kGeluBackward, op.rows * op.in,
                   {all[2], With(all[3], Access::kReadWrite)})};
  }
  if (!HasResidual(op)) return {};
  return {Product(op, DeviceOpKind::kLinear, {all[0], all[1], all[2], all[3]}),
          Kernel(op, DeviceOpKind::kAddResidual, op.rows * op.out,
                 {all[4], With(all[3], Access::kReadWrite)})};
}

std::optional<DeviceOp> NarrowKernelOf(const DeviceOp& op) {
  if (op.out != cuda::kNarrow || HasResidual(op)) return std::nullopt;
  switch (op.kind) {
    case DeviceOpKind::kLinear:
      return Product(op, DeviceOpKind::kNarrowLinear, op.operands);
    case DeviceOpKind::kLinearBackwardInput:
      return Product(op, DeviceOpKind::kNarrowBackwardInput, op.operands);
    case DeviceOpKind::kLinearBackwardWeight:
      return Product(op, DeviceOpKind::kNarrowBackwardWeight, op.operands);
    default:
      return std::nullopt;
  }
}

}  // namespace penstock
