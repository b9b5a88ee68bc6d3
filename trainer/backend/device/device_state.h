// The state of a training on a device.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_STATE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_layout.h"
#include "trainer/backend/device/training_memory.h"
#include "trainer/backend/train_state.h"

namespace penstock {

// Borrows its arguments. Every call waits for the compute stream. Not thread-safe.
class DeviceState {
 public:
  DeviceState(Device& device, const DeviceLayout& layout, const TrainingMemory& memory)
      : device_(device), layout_(layout), memory_(memory) {}

  // Writes the data that belongs to the model, not to a state of it.
  absl::Status Prepare();
  // Writes the arenas of `state`, in the model's layout. Clears the mark of a gradient that was not
  // finite.
  absl::Status Write(const TrainState& state);
  absl::StatusOr<TrainState> Read(uint64_t step);
  // Returns the gradients of shard 0. Once the shards are merged, that is the sum over all shards.
  absl::StatusOr<std::vector<float>> ReadGradients() { return ReadArena(memory_.gradients()); }

 private:
  absl::Status Send(const void* from, size_t bytes, void* to);
  absl::Status SendArena(const std::vector<float>& arena, float* to);
  absl::StatusOr<std::vector<float>> ReadArena(const float* from);

  Device& device_;
  const DeviceLayout& layout_;
  const TrainingMemory& memory_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_STATE_H_
