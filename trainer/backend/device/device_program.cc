#include "trainer/backend/device/device_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/backend/device/product_forms.h"
#include "trainer/backend/device/product_noise.h"
#include "trainer/step/arena_plan.h"
#include "trainer/step/fuse.h"
#include "trainer/step/model_program.h"

namespace penstock {
namespace {

// Placeholder addresses for examining a list before memory is allocated. Nothing reads or writes
// them.
ShardMemory NoMemory() {
  alignas(256) static char place[sizeof(DropoutDraw)];
  auto* floats = reinterpret_cast<float*>(place);
  return {floats,
          nullptr,
          floats,
          place,
          place,
          place,
          floats,
          floats,
          floats,
          place,
          reinterpret_cast<DropoutDraw*>(place)};
}

// The first device operation for a program's operation.
DeviceOpKind KindOf(OpKind kind) {
  switch (kind) {
    case OpKind::kExpandPacked:
      return DeviceOpKind::kExpandPacked;
    case OpKind::kJoinI8:
      return DeviceOpKind::kJoinI8;
    case OpKind::kJoinF32:
      return DeviceOpKind::kJoinF32;
    case OpKind::kPatchImages:
      return DeviceOpKind::kPatchImages;
    case OpKind::kLinear:
      return DeviceOpKind::kLinear;
    case OpKind::kLinearGelu:
      return DeviceOpKind::kLinearGelu;
    case OpKind::kAddPosition:
      return DeviceOpKind::kAddPosition;
    case OpKind::kLayerNorm:
      return DeviceOpKind::kLayerNorm;
    case OpKind::kAttention:
      return DeviceOpKind::kAttention;
    case OpKind::kGelu:
      return DeviceOpKind::kGelu;
    case OpKind::kMeanPool:
      return DeviceOpKind::kMeanPool;
    case OpKind::kTanh:
      return DeviceOpKind::kScore;
    case OpKind::kDropout:
      return DeviceOpKind::kDropout;
    case OpKind::kAddResidual:
      return DeviceOpKind::kAddResidual;
    case OpKind::kAddLayerNorm:
      return DeviceOpKind::kAddLayerNorm;
    case OpKind::kClassify:
      return DeviceOpKind::kClassify;
    case OpKind::kCrossEntropyBackward:
      return DeviceOpKind::kCrossEntropyBackward;
    case OpKind::kSquaredErrorBackward:
    case OpKind::kTanhBackward:
      return DeviceOpKind::kScoreBackward;
    case OpKind::kMeanPoolBackward:
      return DeviceOpKind::kMeanPoolBackward;
    case OpKind::kGeluBackward:
      return DeviceOpKind::kGeluBackward;
    case OpKind::kAttentionBackward:
      return DeviceOpKind::kAttentionBackward;
    case OpKind::kLayerNormBackward:
      return DeviceOpKind::kLayerNormBackward;
    case OpKind::kAddPositionBackward:
      return DeviceOpKind::kColumnSums;
    case OpKind::kLinearBackwardInput:
      return DeviceOpKind::kLinearBackwardInput;
    case OpKind::kLinearBackwardGelu:
      return DeviceOpKind::kLinearBackwardGelu;
    case OpKind::kLinearBackwardWeight:
      return DeviceOpKind::kLinearBackwardWeight;
    case OpKind::kAddGradients:
      return DeviceOpKind::kAdd;
    case OpKind::kGradientNorm:
      return DeviceOpKind::kGradientNorm;
    case OpKind::kAdamw:
      break;
  }
  return DeviceOpKind::kAdamw;
}

// A bit mask of the operands that are float in every precision.
unsigned FloatOperands(OpKind kind) {
  switch (kind) {
    case OpKind::kAddPosition:
      return 0b1;
    case OpKind::kLayerNorm:
      return 0b110110;
    case OpKind::kAddLayerNorm:
      return 0b1101100;
    case OpKind::kAttention:
      return 0b100;
    case OpKind::kAttentionBackward:
      return 0b11000;
    case OpKind::kLayerNormBackward:
      return 0b11011100;
    case OpKind::kLinearBackwardWeight:
      return 0b1100;
    case OpKind::kAddPositionBackward:
      return 0b10;
    default:
      return 0;
  }
}

}  // namespace

absl::StatusOr<DeviceProgram> DeviceProgram::Build(const ModelConfig& config,
                                                   const DeviceLayout& layout,
                                                   const Options& options, Device& device) {
  auto* build = options.purpose == Purpose::kTraining ? &BuildTraining : &BuildInference;
  DeviceProgram result;
  result.bf16_ = options.bf16;
  result.format_ = options.format;
  result.results_ = config.results();
  result.program_ = build(config, layout.padded(), options.format, options.rows);
  FuseResidualNorm(result.program_);
  FuseGelu(result.program_);
  FuseGeluBackward(result.program_);
  PENSTOCK_RETURN_IF_ERROR(
      result.ForEachProduct(NoMemory(), [&](const DeviceOp& op) { return device.Prepare(op); }));
  result.Place();
  result.FindWorkspace(device);
  return result;
}

absl::Status DeviceProgram::ForEachProduct(
    const ShardMemory& memory, absl::FunctionRef<absl::Status(const DeviceOp&)> work) const {
  std::set<ProductKey> seen;
  for (const DeviceOp& op : OpsOn(memory)) {
    if (!IsGemm(op.kind) || !seen.insert(ProductKey::Of(op)).second) continue;
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(work(op), absl::StrCat(DeviceOpName(op.kind), " of ", op.rows, " rows, ", op.in,
                                        " to ", op.out, " columns")));
  }
  return absl::OkStatus();
}

absl::Status DeviceProgram::TryProducts(const ShardMemory& memory, Device& device) const {
  PENSTOCK_RETURN_IF_ERROR(
      ForEachProduct(memory, [&](const DeviceOp& op) { return device.Try(op); }));
  return device.Synchronize(DeviceQueue::kCompute);
}

absl::Status DeviceProgram::ChooseFastestProducts(const ShardMemory& memory, Device& device) const {
  std::vector<DeviceOp> products;
  PENSTOCK_RETURN_IF_ERROR(ForEachProduct(memory, [&](const DeviceOp& op) {
    products.push_back(op);
    return absl::OkStatus();
  }));
  PENSTOCK_RETURN_IF_ERROR(FillOperands(products, device));
  return ForEachProduct(memory, [&](const DeviceOp& op) { return device.ChooseFastest(op); });
}

// Means and inverse deviations of norms are floats, which take the space of two bf16 elements.
void DeviceProgram::Place() {
  if (bf16_) {
    for (const Op& op : program_.ops) {
      if (op.kind != OpKind::kLayerNorm && op.kind != OpKind::kAddLayerNorm) continue;
      const size_t last = op.operands.size() - 1;  // The deviation, which follows the mean.
      program_.buffers[op.operands[last - 1].buffer].size *= 2;
      program_.buffers[op.operands[last].buffer].size *= 2;
    }
  }
  PlaceActivations(program_);
  OrderConflicts(program_);
}

void DeviceProgram::FindWorkspace(Device& device) {
  const std::vector<DeviceOp> ops = OpsOn(NoMemory());
  for (const DeviceOp& op : ops) {
    workspaces_.push_back(device.Workspace(op));
    workspace_bytes_ = std::max(workspace_bytes_, workspaces_.back());
  }
}

DeviceOperand DeviceProgram::Resolve(const Operand& operand, const ShardMemory& memory,
                                     bool as_float) const {
  const Buffer& buffer = program_.buffers[operand.buffer];
  auto of = [&](auto* base, size_t offset, size_t bytes) {
    return DeviceOperand{base + offset, bytes, operand.access};
  };
  switch (buffer.arena) {
    case Arena::kParameters:
      if (as_float || memory.copies == nullptr) {
        return of(memory.parameters, buffer.offset, buffer.size * sizeof(float));
      }
      return of(memory.copies, buffer.offset, buffer.size * sizeof(Bf16));
    case Arena::kGradients:
      return of(memory.gradients, buffer.offset, buffer.size * sizeof(float));
    case Arena::kInput:
      return of(memory.input, 0, program_.rows * format_.input_bytes);
    case Arena::kFlags:
      return of(memory.flags, 0, program_.rows * format_.flags_bytes);
    case Arena::kTargets:
      return of(memory.targets, 0, program_.rows * sizeof(float));
    case Arena::kPredictions:
      return of(memory.predictions, 0, program_.rows * results_ * sizeof(float));
    default:
      return of(memory.activations, buffer.offset * element_bytes(), buffer.size * element_bytes());
  }
}

void DeviceProgram::Append(const Op& op, const ShardMemory& memory,
                           std::vector<DeviceOp>& list) const {
  // One kernel computes the gradients of the error and of the tanh, at the place of the latter.
  if (op.kind == OpKind::kSquaredErrorBackward) return;
  const size_t rows = program_.rows * op.shape.rows_per_sample;
  DeviceOp result{.kind = KindOf(op.kind),
                  .bf16 = bf16_,
                  .samples = program_.rows,
                  .rows = rows,
                  .in = op.shape.in,
                  .out = op.shape.out,
                  .heads = op.shape.heads,
                  .count = rows * op.shape.in,
                  .patch = op.shape.patch,
                  .pixels = op.shape.pixels,
                  .classes = op.shape.classes,
                  .epsilon = op.shape.epsilon,
                  .gelu = op.shape.gelu,
                  .dropout = op.shape.dropout};
  const unsigned floats = FloatOperands(op.kind);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    result.operands.push_back(Resolve(op.operands[i], memory, (floats >> i & 1) != 0));
  }
  Adapt(op, memory, result);
  if (op.kind == OpKind::kLinearBackwardWeight) {
    const DeviceOperand dbias = result.operands[3];
    result.operands.pop_back();
    list.push_back(result);
    result.kind = DeviceOpKind::kColumnSums;
    result.in = op.shape.out;
    result.operands = {result.operands[0], dbias};
  }
  list.push_back(std::move(result));
}

void DeviceProgram::Adapt(const Op& op, const ShardMemory& memory, DeviceOp& result) const {
  std::vector<DeviceOperand>& operands = result.operands;
  const DeviceOperand targets{memory.targets, program_.rows * sizeof(float), Access::kRead};
  const DeviceOperand weights{memory.weights, program_.rows * sizeof(float), Access::kRead};
  switch (op.kind) {
    case OpKind::kTanhBackward: {
      DeviceOperand dscores = operands[1];
      dscores.access = Access::kWrite;
      operands = {operands[0], targets, weights, dscores};
      break;
    }
    case OpKind::kCrossEntropyBackward:
      operands.insert(operands.begin() + 2, weights);
      break;
    case OpKind::kAddPositionBackward:
      result.rows = program_.rows;
      result.in = op.shape.rows_per_sample * op.shape.in;
      break;
    default:
      break;
  }
  if (!op.shape.dropout.active()) return;
  operands.push_back({memory.draws + op.shape.site, sizeof(DropoutDraw), Access::kRead});
}

std::vector<GradientBucket> DeviceProgram::Buckets(size_t arena, size_t floats) const {
  std::vector<size_t> last;  // For each operation, the number of its last device operation.
  std::vector<DeviceOp> list;
  for (const Op& op : program_.ops) {
    Append(op, NoMemory(), list);
    last.push_back(list.size() - 1);
  }
  std::vector<GradientBucket> buckets = CutGradients(program_, arena, floats);
  for (GradientBucket& bucket : buckets) bucket.op = last[bucket.op];
  return buckets;
}

std::vector<DeviceOp> DeviceProgram::OpsOn(const ShardMemory& memory) const {
  std::vector<DeviceOp> list;
  for (const Op& op : program_.ops) Append(op, memory, list);
  for (size_t i = 0; i < workspaces_.size(); ++i) {
    if (workspaces_[i] > 0) {
      list[i].workspace = {memory.workspace, workspaces_[i], Access::kWrite};
    }
  }
  return list;
}

}  // namespace penstock
