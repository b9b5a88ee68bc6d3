// The device memory and the page-locked host memory of a training, and its layout.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_TRAINING_MEMORY_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_TRAINING_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "trainer/backend/device/batch_slot.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_program.h"
#include "trainer/backend/device/memory_plan.h"

namespace penstock {

struct TrainingSizes {
  size_t arena = 0;       // Floats of one set of parameters.
  size_t shards = 0;      // Virtual shards of all ranks.
  size_t own_shards = 0;  // Virtual shards of this rank.
  size_t results = 1;     // Floats per row in predictions.
  size_t slots = 0;       // Number of batches with a slot.
  size_t decays = 0;      // Bytes that mark the parameters that decay.
  size_t activation_bytes = 0;
  size_t workspace_bytes = 0;
  bool bf16 = false;
};

// Not thread-safe.
class TrainingMemory {
 public:
  // Takes nothing yet; plan() says what will be taken.
  TrainingMemory(const TrainingSizes& sizes, const SlotLayout& slot);

  const TrainingSizes& sizes() const { return sizes_; }
  const SlotLayout& slot() const { return slot_; }
  MemoryPlan& plan() { return plan_; }
  const MemoryPlan& plan() const { return plan_; }

  // kResourceExhausted: there is not enough memory. Page-locked memory starts as zeros.
  absl::Status Take(Device& device);

  size_t arena_bytes() const { return sizes_.arena * sizeof(float); }
  float* parameters() const { return plan_.at<float>(parameters_); }
  // The bf16 copies of the parameters; null in fp32.
  Bf16* copies() const { return sizes_.bf16 ? plan_.at<Bf16>(copies_) : nullptr; }
  float* m() const { return plan_.at<float>(moments_); }
  float* v() const { return m() + sizes_.arena; }
  float* gradients(size_t shard = 0) const {
    return plan_.at<float>(gradients_) + shard * sizes_.arena;
  }
  float* predictions() const { return plan_.at<float>(predictions_); }
  size_t predictions_count() const { return sizes_.own_shards * slot_.rows() * sizes_.results; }
  size_t predictions_bytes() const { return predictions_count() * sizeof(float); }
  double* norm() const { return plan_.at<double>(norm_); }
  uint8_t* decays() const { return plan_.at<uint8_t>(decays_); }
  char* workspace() const { return plan_.at(workspace_); }
  char* slot_at(size_t slot) const { return plan_.at(slots_) + slot * slot_.bytes(); }
  ShardMemory OfShard(size_t slot, size_t shard) const;

  // Page-locked memory of a slot, for its batch and the results of the batch's step.
  char* host_slot(size_t slot) const { return host_slots_ + slot * slot_.bytes(); }
  float* host_predictions(size_t slot) const {
    return host_predictions_ + slot * predictions_count();
  }
  double* host_norm(size_t slot) const { return host_norms_ + slot; }
  uint64_t host_bytes() const;

 private:
  const TrainingSizes sizes_;
  const SlotLayout slot_;
  MemoryPlan plan_;
  MemoryPlan::Region parameters_, copies_, moments_, gradients_, activations_, workspace_, slots_,
      predictions_, norm_, decays_;
  char* host_slots_ = nullptr;
  float* host_predictions_ = nullptr;
  double* host_norms_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_TRAINING_MEMORY_H_
