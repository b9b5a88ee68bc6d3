// What is queued for a batch, as lists of operations.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_STEP_LISTS_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_STEP_LISTS_H_

#include <cstddef>
#include <vector>

#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/device_list.h"
#include "trainer/backend/cuda/device_program.h"
#include "trainer/backend/cuda/gradient_merge.h"
#include "trainer/backend/cuda/training_memory.h"

namespace penstock {

// Of a step's batches the first begins the sums of gradients anew, the last one updates.
struct BatchKind {
  bool first = true;
  bool last = true;

  size_t index() const { return 2 * size_t{first} + size_t{last}; }
};
inline constexpr size_t kBatchKinds = 4;

// What a batch queues between two visits to the host; one rank alone, and a batch that does not
// update, have all in `first`.
struct StepLists {
  DeviceList first, middle, last;
};

// Borrows all it is given. Thread-compatible.
class StepListBuilder {
 public:
  StepListBuilder(const DeviceProgram& training, const DeviceProgram& inference,
                  const TrainingMemory& memory, const GradientMerge& merge, Device& device)
      : training_(training),
        inference_(inference),
        memory_(memory),
        merge_(merge),
        device_(device) {}

  StepLists Batch(size_t slot, BatchKind kind) const;
  // Those of one rank alone, from batches in several slots, one after the other.
  DeviceList Batches(size_t first_slot, size_t count) const;
  // Sends the batch as well.
  DeviceList Inference(size_t slot) const;

 private:
  using Ops = std::vector<DeviceOp>;
  Ops Gradients(size_t slot, BatchKind kind) const;
  Ops Update(size_t slot) const;
  DeviceOp Norm() const;
  DeviceOp CopyPredictions(size_t slot) const;

  const DeviceProgram& training_;
  const DeviceProgram& inference_;
  const TrainingMemory& memory_;
  const GradientMerge& merge_;
  Device& device_;
};

// The gradient's norm among the operations that need workspace.
DeviceOp GradientNormOf(size_t count);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_STEP_LISTS_H_
