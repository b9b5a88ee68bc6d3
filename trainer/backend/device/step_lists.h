// What is queued for a batch, as lists of operations.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_STEP_LISTS_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_STEP_LISTS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "trainer/backend/device/device.h"
#include "trainer/backend/device/device_list.h"
#include "trainer/backend/device/device_program.h"
#include "trainer/backend/device/exchange_progress.h"
#include "trainer/backend/device/gradient_merge.h"
#include "trainer/backend/device/training_memory.h"

namespace penstock {

// What the events of a device are to the backend.
inline constexpr size_t kBatchGroups = 2;

// A group of batches has arrived; what was queued for it is done.
constexpr DeviceEvent ArrivalOf(size_t group) { return 2 * group; }
constexpr DeviceEvent DoneOf(size_t group) { return 2 * group + 1; }

// Of DeviceList::AddOrder(), each waited for at once.
inline constexpr DeviceEvent kBucketIsComputed = 2 * kBatchGroups;
inline constexpr DeviceEvent kBucketsAreExchanged = kBucketIsComputed + 1;

static_assert(kBucketsAreExchanged + 1 == kDeviceEvents);

// Of a step's batches the first begins the sums of gradients anew, the last one updates.
struct BatchKind {
  bool first = true;
  bool last = true;

  size_t index() const { return 2 * size_t{first} + size_t{last}; }
};
inline constexpr size_t kBatchKinds = 4;

// What a batch queues between two visits to the host. All is in `first` of one rank alone, of ranks
// whose exchanges can be queued, and of a batch that does not update.
struct StepLists {
  DeviceList first, middle, last;
};

// What the lists work on.
struct StepParts {
  const DeviceProgram& training;
  const DeviceProgram& inference;
  const TrainingMemory& memory;
  const GradientMerge& merge;
  const ExchangeProgress& progress;
  // In the order in which `training` finishes them; one, of all, unless exchanges can be queued.
  std::span<const GradientBucket> buckets;
  Device& device;
};

// Borrows all it is given. Thread-compatible.
class StepListBuilder {
 public:
  explicit StepListBuilder(const StepParts& parts)
      : training_(parts.training),
        inference_(parts.inference),
        memory_(parts.memory),
        merge_(parts.merge),
        progress_(parts.progress),
        buckets_(parts.buckets),
        device_(parts.device) {}

  StepLists Batch(size_t slot, BatchKind kind) const;
  // Those of steps of one batch in several slots, one after the other. REQUIRES: one rank alone, or
  // exchanges that can be queued.
  DeviceList Batches(size_t first_slot, size_t count) const;
  // Sends the batch as well.
  DeviceList Inference(size_t slot) const;

 private:
  using Ops = std::vector<DeviceOp>;
  // Of one of this rank's shards.
  Ops Gradients(size_t slot, size_t shard, BatchKind kind) const;
  Ops Gradients(size_t slot, BatchKind kind) const;
  Ops Update(size_t slot) const;
  GradientRange All() const { return {0, memory_.sizes().arena}; }
  // The exchange of each bucket begins behind the last operation that writes to it, on a stream of
  // its own; the update comes behind them all.
  void AddWithExchange(size_t slot, BatchKind kind, DeviceList& list) const;
  void AddBucket(size_t slot, size_t bucket, DeviceList& list) const;
  void AddTransfer(Transfer transfer, size_t slot, size_t bucket, DeviceList& list) const;
  bool QueuesExchange() const { return !merge_.alone() && merge_.ranks().CanQueue(); }
  DeviceOp Norm() const;
  DeviceOp CopyPredictions(size_t slot) const;

  const DeviceProgram& training_;
  const DeviceProgram& inference_;
  const TrainingMemory& memory_;
  const GradientMerge& merge_;
  const ExchangeProgress& progress_;
  const std::span<const GradientBucket> buckets_;
  Device& device_;
};

// The gradient's norm among the operations that need workspace.
DeviceOp GradientNormOf(size_t count);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_STEP_LISTS_H_
