// Puts batches into page-locked slots, and sends them from there to the device's slots on the copy
// stream.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_BATCH_SENDER_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_BATCH_SENDER_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "kernels/reference/adamw.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/pinned_slots.h"
#include "trainer/backend/device/training_memory.h"
#include "trainer/comm/gather.h"

namespace penstock {

// The rows of a batch that each virtual shard of a rank has. Rank `rank` of `ranks` has `own` of
// `shards` shards, from `first` on.
struct ShardRows {
  size_t shards = 1, first = 0, own = 1;
  size_t rank = 0, ranks = 1;

  struct Range {
    size_t first, count;
    size_t place;  // Place of the range's first row in the whole batch.
  };
  // The range of the rank's shard `shard` among the rank's rows of a batch of `global_rows`.
  Range Of(size_t shard, size_t global_rows) const {
    const size_t number = first + shard;
    const size_t begin = number * global_rows / shards;
    return {begin - FirstRowOf(rank, ranks, global_rows),
            (number + 1) * global_rows / shards - begin, begin};
  }
};

// Borrows the device, the memory and the loader's slots. Not thread-safe.
class BatchSender {
 public:
  // Values that a batch's kernels read besides its rows.
  struct Numbers {
    float weight = 0;  // Weight of each row in the loss.
    reference::UpdateScalars update;
    uint64_t random_key = 0;
  };

  BatchSender(Device& device, const TrainingMemory& memory, const PinnedSlots& pinned,
              const ShardRows& shards)
      : device_(device), memory_(memory), pinned_(pinned), shards_(shards) {}

  // Puts a batch into the host's slot `slot`, with `weight` as the weight of each row in the loss.
  // REQUIRES: no queued work still uses the slot.
  void Fill(const BatchRows& rows, size_t global_rows, float weight, size_t slot) const;
  // Like Fill(), but also stores `numbers` behind the batch, queues the copies on the copy stream,
  // and records `arrival` behind them. If the input lies in page-locked memory in the device's
  // layout, it is sent from there; the rest is a small part of the batch.
  absl::Status Send(const BatchRows& rows, size_t global_rows, const Numbers& numbers, size_t slot,
                    DeviceEvent arrival);

  // Copies a slot's predictions (TrainingSizes::results per row) and its targets, for the rank's
  // rows, without the padding of the shards.
  void TakePredictions(size_t slot, size_t global_rows, std::span<float> rows) const;
  void TakeTargets(size_t slot, size_t global_rows, std::span<float> rows) const;

 private:
  void FillRest(const BatchRows& rows, size_t global_rows, float weight, size_t slot) const;
  // Whether the batch's input lies in page-locked memory, without padding between the shards.
  bool CanSendInput(const BatchRows& rows, size_t global_rows) const;
  // Queues a copy on the copy stream.
  absl::Status Copy(const void* from, size_t bytes, char* to);

  Device& device_;
  const TrainingMemory& memory_;
  const PinnedSlots& pinned_;
  const ShardRows shards_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_BATCH_SENDER_H_
