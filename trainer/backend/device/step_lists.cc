#include "trainer/backend/device/step_lists.h"

#include <cstdint>
#include <iterator>
#include <utility>

#include "kernels/reference/adamw.h"

namespace penstock {
namespace {

void Append(std::vector<DeviceOp>& list, std::vector<DeviceOp> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

// Returns an operation whose operands are the memory that the messages read and write.
DeviceOp ExchangeOf(const Transfer& transfer) {
  DeviceOp op{.kind = DeviceOpKind::kExchange};
  for (const Communicator::Outgoing& message : transfer.out) {
    op.operands.push_back(
        {const_cast<uint8_t*>(message.bytes.data()), message.bytes.size(), Access::kRead});
  }
  for (const Communicator::Incoming& message : transfer.in) {
    op.operands.push_back({message.bytes.data(), message.bytes.size(), Access::kWrite});
  }
  return op;
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

StepListBuilder::Ops StepListBuilder::Gradients(size_t slot, size_t shard, BatchKind kind) const {
  const ShardMemory memory = memory_.OfShard(slot, shard);
  Ops ops;
  if (kind.first) {
    ops.push_back({.kind = DeviceOpKind::kZero,
                   .operands = {{memory.gradients, memory_.arena_bytes(), Access::kWrite}}});
  }
  Append(ops, training_.OpsOn(memory));
  return ops;
}

StepListBuilder::Ops StepListBuilder::Gradients(size_t slot, BatchKind kind) const {
  Ops ops;
  for (size_t shard = 0; shard < merge_.num_shards(); ++shard) {
    Append(ops, Gradients(slot, shard, kind));
  }
  ops.push_back(CopyPredictions(slot));
  if (kind.last) Append(ops, merge_.BeforeExchange(All()));
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
  Ops ops;
  ops.push_back(Norm());
  ops.push_back(std::move(adamw));
  ops.push_back(CopyToHost(memory_.norm(), sizeof(double), memory_.host_norm(slot)));
  return ops;
}

void StepListBuilder::AddTransfer(Transfer transfer, size_t slot, size_t bucket,
                                  DeviceList& list) const {
  auto queue = [&ranks = merge_.ranks(), &progress = progress_, transfer, slot, bucket] {
    ranks.Mark(progress.step(slot), static_cast<uint32_t>(bucket));
    return ranks.Queue(transfer.out, transfer.in);
  };
  list.AddForeign(ExchangeOf(transfer), DeviceQueue::kExchange, std::move(queue));
}

void StepListBuilder::AddBucket(size_t slot, size_t bucket, DeviceList& list) const {
  const GradientRange range{buckets_[bucket].first, buckets_[bucket].count};
  list.AddOrder(DeviceQueue::kCompute, DeviceQueue::kExchange, kBucketIsComputed);
  list.Add({progress_.AtBucket(slot, bucket)}, DeviceQueue::kExchange);
  list.Add(merge_.BeforeExchange(range), DeviceQueue::kExchange);
  AddTransfer(merge_.Exchange(range), slot, bucket, list);
  list.Add(merge_.BeforeGather(range), DeviceQueue::kExchange);
  AddTransfer(merge_.Gather(range), slot, bucket, list);
  list.Add(merge_.AfterGather(range), DeviceQueue::kExchange);
}

void StepListBuilder::AddWithExchange(size_t slot, BatchKind kind, DeviceList& list) const {
  const size_t last = merge_.num_shards() - 1;
  for (size_t shard = 0; shard < last; ++shard) list.Add(Gradients(slot, shard, kind));
  const Ops ops = Gradients(slot, last, kind);
  const size_t zeros = kind.first ? 1 : 0;
  auto done = ops.begin();
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    const auto end = ops.begin() + static_cast<std::ptrdiff_t>(zeros + buckets_[bucket].op + 1);
    list.Add({done, end});
    done = end;
    AddBucket(slot, bucket, list);
  }
  list.Add({done, ops.end()});
  list.Add({CopyPredictions(slot), progress_.Computed(slot)});
  list.AddOrder(DeviceQueue::kExchange, DeviceQueue::kCompute, kBucketsAreExchanged);
  list.Add(Update(slot));
}

StepLists StepListBuilder::Batch(size_t slot, BatchKind kind) const {
  if (kind.last && QueuesExchange()) {
    StepLists lists;
    AddWithExchange(slot, kind, lists.first);
    return lists;
  }
  Ops first = Gradients(slot, kind);
  if (!kind.last) return {DeviceList(std::move(first)), {}, {}};
  if (merge_.alone()) {
    Append(first, Update(slot));
    return {DeviceList(std::move(first)), {}, {}};
  }
  Ops last = merge_.AfterGather(All());
  Append(last, Update(slot));
  return {DeviceList(std::move(first)), DeviceList(merge_.BeforeGather(All())),
          DeviceList(std::move(last))};
}

DeviceList StepListBuilder::Batches(size_t first_slot, size_t count) const {
  DeviceList all;
  for (size_t slot = first_slot; slot < first_slot + count; ++slot) {
    if (QueuesExchange()) {
      AddWithExchange(slot, {}, all);
    } else {
      all.Add(Gradients(slot, {}));
      all.Add(Update(slot));
    }
  }
  return all;
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
