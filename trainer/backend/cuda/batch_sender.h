// Batches into page-locked slots, and from there to the device's, on the stream of copies.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_BATCH_SENDER_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_BATCH_SENDER_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "kernels/reference/adamw.h"
#include "trainer/backend/board_rows.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/shard_rows.h"
#include "trainer/backend/cuda/training_memory.h"

namespace penstock {

// Borrows the device and the memory. Not thread-safe.
class BatchSender {
 public:
  BatchSender(Device& device, const TrainingMemory& memory, const ShardRows& shards)
      : device_(device), memory_(memory), shards_(shards) {}

  // Puts a batch in slot `slot` of the host; each of its rows weighs `weight` in the loss.
  // REQUIRES: nothing that was queued still uses the slot.
  void Fill(const BoardRows& rows, size_t global_rows, float weight, size_t slot) const;
  // The numbers of the update after it.
  void SetUpdate(const reference::UpdateScalars& update, size_t slot) const;
  // Queues the slot's copy on the stream of copies, and `arrival` behind it.
  absl::Status Send(size_t slot, DeviceEvent arrival);

  // What a slot's step predicted, and its targets, of the rank's rows: without the padding of the
  // shards.
  void TakePredictions(size_t slot, size_t global_rows, std::span<float> rows) const;
  void TakeTargets(size_t slot, size_t global_rows, std::span<float> rows) const;

 private:
  Device& device_;
  const TrainingMemory& memory_;
  const ShardRows shards_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_BATCH_SENDER_H_
