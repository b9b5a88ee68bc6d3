// A device's operations as data, so that the same list can be run on a GPU, captured into a graph,
// checked, and run on an emulated device.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_OP_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_OP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/step/program.h"

namespace penstock {

// Operands in order: r is read, w is written, rw is both. T is float, or Bf16 if `bf16` is set;
// operands not marked T are float. The sizes and options that matter follow.
enum class DeviceOpKind : uint8_t {
  kZero,      // w anything
  kCopy,      // r from, w to: either may be host memory
  kExchange,  // r sent ..., w received ...: done by a communicator, see Device::RunForeign()

  kExpandPacked,  // r packed, w T features                     samples, in
  kJoinI8,        // r planes, r flags, w T features            samples, in
  kJoinF32,       // r planes, r flags, w T features            samples, in
  kPatchImages,   // r images, w T features                     samples, rows, in, patch, pixels

  kLinear,       // r T x, r T weight, r T bias, w T y [, r T residual]     rows, in, out
  kLinearGelu,   // r T x, r T weight, r T bias, w T before, w T y          rows, in, out
  kAddPosition,  // r position, rw T x                           samples, rows, in
  kLayerNorm,    // r T x, r gain, r offset, w T y, w mean, w rstd         rows, in, epsilon
  // r T qkv, w T y [, r bias] [, r DropoutDraw]      samples, rows, in, heads, dropout
  kAttention,
  kGelu,         // r T x, w T y                                 count, gelu
  kMeanPool,     // r T x, w T y                                 samples, rows, in
  kScore,        // r T scores, w predictions                    rows, out
  kDropout,      // r T x, w T y [, r DropoutDraw]         samples, count, dropout
  kAddResidual,  // r T addend, rw T sum                         count
  // r T addend, rw T sum, r gain, r offset, w T y, w mean, w rstd       rows, in, epsilon
  kAddLayerNorm,
  kClassify,  // r T logits, r targets, w results             rows, in, classes

  kScoreBackward,  // r predictions, r targets, r weights, w T dscores  rows, out
  // r T logits, r targets, r weights, w T dlogits              rows, in, classes
  kCrossEntropyBackward,
  kMeanPoolBackward,  // r T dy, w T dx                         samples, rows, in
  kGeluBackward,      // r T x, rw T dy                         count, gelu
  // r T qkv, r T dy, w T dqkv [, r bias, rw dbias] [, r DropoutDraw]    as the forward
  kAttentionBackward,
  // r T dy, r T x, r gain, r mean, r rstd, w or rw T dx, rw dgain, rw doffset   rows, in
  kLayerNormBackward,
  kColumnSums,            // r T x, rw sums                      rows, in
  kLinearBackwardInput,   // r T dy, r T weight, w T dx          rows, in, out
  kLinearBackwardGelu,    // r T dy, r T weight, r T before, w T dbefore  rows, in, out
  kLinearBackwardWeight,  // r T dy, r T x, rw dweight           rows, in, out

  // kLinear without a residual, kLinearBackwardInput and kLinearBackwardWeight by kernels of ours,
  // with 8 outputs: the same operands and sizes
  kNarrowLinear,
  kNarrowBackwardInput,
  kNarrowBackwardWeight,

  kAdd,           // r addend, rw sum                            count
  kNarrow,        // r from, w to in 16 bits                     count; `bf16` or fp16
  kWiden,         // r from in 16 bits, w to                     count; `bf16` or fp16
  kGradientNorm,  // r gradient, rw double norm                  count
  // r UpdateScalars, r double norm, r uint8 decays, r gradient, rw parameters, rw m, rw v
  // [, w Bf16 copies]                                           count
  kAdamw,
};

struct DeviceOperand {
  void* at = nullptr;
  size_t bytes = 0;
  Access access = Access::kRead;
  // Whether `at` is host memory. It must be page-locked if the copy is to run alongside other work.
  bool host = false;
};

struct DeviceOp {
  DeviceOpKind kind = DeviceOpKind::kZero;
  bool bf16 = false;
  size_t samples = 0;
  size_t rows = 0;   // Rows of the matrices.
  size_t in = 0;     // Columns of the input, padding included.
  size_t out = 0;    // Columns of the output; for kScore, of the scores that it reads.
  size_t heads = 0;  // Each has the width in / heads.
  size_t count = 0;
  size_t patch = 0;
  reference::PixelScale pixels = {};
  size_t classes = 0;  // Classes among the `in` columns of logits.
  float epsilon = 0;
  reference::GeluForm gelu = reference::GeluForm::kTanh;
  Dropout dropout = {};  // If it is active, the last operand has the draws.
  std::vector<DeviceOperand> operands = {};
  DeviceOperand workspace = {};  // Scratch memory of the operation, Device::Workspace() bytes.

  template <typename T>
  T* at(size_t operand) const {
    return static_cast<T*>(operands[operand].at);
  }
};

constexpr bool IsGemm(DeviceOpKind kind) {
  return kind == DeviceOpKind::kLinear || kind == DeviceOpKind::kLinearGelu ||
         kind == DeviceOpKind::kLinearBackwardInput || kind == DeviceOpKind::kLinearBackwardGelu ||
         kind == DeviceOpKind::kLinearBackwardWeight;
}

// "linear", "layer norm backward", ...
const char* DeviceOpName(DeviceOpKind kind);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_OP_H_
