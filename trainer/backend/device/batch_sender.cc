#include "trainer/backend/device/batch_sender.h"

#include <algorithm>

#include "base/status.h"

namespace penstock {

void BatchSender::FillRest(const BatchRows& rows, size_t global_rows, float weight,
                           size_t slot) const {
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    const ShardRows::Range range = shards_.Of(shard, global_rows);
    memory_.slot().FillRest(rows.Slice(range.first, range.count), shard, weight,
                            memory_.host_slot(slot));
  }
}

void BatchSender::Fill(const BatchRows& rows, size_t global_rows, float weight, size_t slot) const {
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    const ShardRows::Range range = shards_.Of(shard, global_rows);
    memory_.slot().FillInput(rows.Slice(range.first, range.count), shard, memory_.host_slot(slot));
  }
  FillRest(rows, global_rows, weight, slot);
}

bool BatchSender::CanSendInput(const BatchRows& rows, size_t global_rows) const {
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    if (shards_.Of(shard, global_rows).count != memory_.slot().rows()) return false;
  }
  return pinned_.Contains(rows.input, rows.rows * rows.format.input_bytes);
}

absl::Status BatchSender::Copy(const void* from, size_t bytes, char* to) {
  return device_.Run({.kind = DeviceOpKind::kCopy,
                      .operands = {{const_cast<void*>(from), bytes, Access::kRead, /*host=*/true},
                                   {to, bytes, Access::kWrite}}},
                     DeviceQueue::kCopy);
}

absl::Status BatchSender::Send(const BatchRows& rows, size_t global_rows, const Numbers& numbers,
                               size_t slot, DeviceEvent arrival) {
  const char* host = memory_.host_slot(slot);
  char* to = memory_.slot_at(slot);
  size_t sent = 0;
  if (CanSendInput(rows, global_rows)) {
    FillRest(rows, global_rows, numbers.weight, slot);
    PENSTOCK_RETURN_IF_ERROR(Copy(rows.input, rows.rows * rows.format.input_bytes, to));
    sent = memory_.slot().flags(0);
  } else {
    Fill(rows, global_rows, numbers.weight, slot);
  }
  memory_.slot().SetUpdate(numbers.update, memory_.host_slot(slot));
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    memory_.slot().SetDraws(numbers.random_key, shards_.Of(shard, global_rows).place, shard,
                            memory_.host_slot(slot));
  }
  PENSTOCK_RETURN_IF_ERROR(Copy(host + sent, memory_.slot().bytes() - sent, to + sent));
  return device_.Record(arrival, DeviceQueue::kCopy);
}

void BatchSender::TakePredictions(size_t slot, size_t global_rows, std::span<float> rows) const {
  const size_t results = memory_.sizes().results;
  for (size_t shard = 0; shard < shards_.own; ++shard) {
    const ShardRows::Range range = shards_.Of(shard, global_rows);
    std::copy_n(memory_.host_predictions(slot) + shard * memory_.slot().rows() * results,
                range.count * results, rows.data() + range.first * results);
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
