#include "trainer/backend/cuda/batch_sender.h"

#include <algorithm>

#include "records/base/status.h"

namespace penstock {

void BatchSender::Fill(const BoardRows& rows, size_t global_rows, float weight, size_t slot) const {
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    const ShardRows::Range range = shards_.Of(shard, global_rows);
    memory_.slot().Fill(rows.Slice(range.first, range.count), shard, weight,
                        memory_.host_slot(slot));
  }
}

void BatchSender::SetUpdate(const reference::UpdateScalars& update, size_t slot) const {
  memory_.slot().SetUpdate(update, memory_.host_slot(slot));
}

absl::Status BatchSender::Send(size_t slot, DeviceEvent arrival) {
  const size_t bytes = memory_.slot().bytes();
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{memory_.host_slot(slot), bytes, Access::kRead, /*host=*/true},
                                   {memory_.slot_at(slot), bytes, Access::kWrite}}};
  PENSTOCK_RETURN_IF_ERROR(device_.Run(copy, DeviceQueue::kCopy));
  return device_.Record(arrival, DeviceQueue::kCopy);
}

void BatchSender::TakePredictions(size_t slot, size_t global_rows, std::span<float> rows) const {
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    const ShardRows::Range range = shards_.Of(shard, global_rows);
    std::copy_n(memory_.host_predictions(slot) + shard * memory_.slot().rows(), range.count,
                rows.data() + range.first);
  }
}

void BatchSender::TakeTargets(size_t slot, size_t global_rows, std::span<float> rows) const {
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    const ShardRows::Range range = shards_.Of(shard, global_rows);
    const char* targets = memory_.host_slot(slot) + memory_.slot().targets(shard);
    std::copy_n(reinterpret_cast<const float*>(targets), range.count, rows.data() + range.first);
  }
}

}  // namespace penstock
