#include "trainer/backend/cuda/step_lists.h"

#include <iterator>
#include <utility>

#include "kernels/reference/adamw.h"

namespace penstock {
namespace {

void Append(std::vector<DeviceOp>& list, std::vector<DeviceOp> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

DeviceOp CopyToHost(void* from, size_t bytes, void* to) {
  return {.kind = DeviceOpKind::kCopy,
          .operands = {{from, bytes, Access::kRead}, {to, bytes, Access::kWrite, /*host=*/true}}};
}

}  // namespace

DeviceOp GradientNormOf(size_t count) {
  return {.kind = DeviceOpKind::kGradientNorm, .count = count};
}

DeviceOp StepListBuilder::CopyPredictions(size_t slot) const {
  return CopyToHost(memory_.predictions(), memory_.predictions_bytes(),
                    memory_.host_predictions(slot));
}

StepListBuilder::Ops StepListBuilder::Gradients(size_t slot, BatchKind kind) const {
  Ops ops;
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    const ShardMemory memory = memory_.OfShard(slot, shard);
    if (kind.first) {
      ops.push_back({.kind = DeviceOpKind::kZero,
                     .operands = {{memory.gradients, memory_.arena_bytes(), Access::kWrite}}});
    }
    Append(ops, training_.OpsOn(memory));
  }
  ops.push_back(CopyPredictions(slot));
  if (kind.last) Append(ops, merge_.BeforeExchange());
  return ops;
}

DeviceOp StepListBuilder::Norm() const {
  DeviceOp norm = GradientNormOf(memory_.sizes().arena);
  norm.operands = {{memory_.gradients(), memory_.arena_bytes(), Access::kRead},
                   {memory_.norm(), sizeof(double), Access::kReadWrite}};
  norm.workspace = {memory_.workspace(), device_.Workspace(norm), Access::kWrite};
  return norm;
}

StepListBuilder::Ops StepListBuilder::Update(size_t slot) const {
  const size_t bytes = memory_.arena_bytes(), count = memory_.sizes().arena;
  char* update = memory_.slot_at(slot) + memory_.slot().update();
  DeviceOp adamw{.kind = DeviceOpKind::kAdamw,
                 .count = count,
                 .operands = {{update, sizeof(reference::UpdateScalars), Access::kRead},
                              {memory_.norm(), sizeof(double), Access::kRead},
                              {memory_.decays(), memory_.sizes().decays, Access::kRead},
                              {memory_.gradients(), bytes, Access::kRead},
                              {memory_.parameters(), bytes, Access::kReadWrite},
                              {memory_.m(), bytes, Access::kReadWrite},
                              {memory_.v(), bytes, Access::kReadWrite}}};
  if (memory_.copies() != nullptr) {
    adamw.operands.push_back({memory_.copies(), count * sizeof(Bf16), Access::kWrite});
  }
  Ops ops = merge_.AfterGather();
  ops.push_back(Norm());
  ops.push_back(std::move(adamw));
  ops.push_back(CopyToHost(memory_.norm(), sizeof(double), memory_.host_norm(slot)));
  return ops;
}

StepLists StepListBuilder::Batch(size_t slot, BatchKind kind) const {
  Ops first = Gradients(slot, kind);
  if (!kind.last) return {DeviceList(std::move(first)), {}, {}};
  if (merge_.alone()) {
    Append(first, Update(slot));
    return {DeviceList(std::move(first)), {}, {}};
  }
  return {DeviceList(std::move(first)), DeviceList(merge_.BeforeGather()),
          DeviceList(Update(slot))};
}

DeviceList StepListBuilder::Batches(size_t first_slot, size_t count) const {
  Ops all;
  for (size_t slot = first_slot; slot < first_slot + count; ++slot) {
    Append(all, Gradients(slot, {}));
    Append(all, Update(slot));
  }
  return DeviceList(std::move(all));
}

DeviceList StepListBuilder::Inference(size_t slot) const {
  const size_t bytes = memory_.slot().bytes();
  Ops ops = {{.kind = DeviceOpKind::kCopy,
              .operands = {{memory_.host_slot(slot), bytes, Access::kRead, /*host=*/true},
                           {memory_.slot_at(slot), bytes, Access::kWrite}}}};
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    Append(ops, inference_.OpsOn(memory_.OfShard(slot, shard)));
  }
  ops.push_back(CopyPredictions(slot));
  return DeviceList(std::move(ops));
}

}  // namespace penstock
