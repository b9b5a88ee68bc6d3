// The work that is queued for a batch, as lists of operations.
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

// The backend's use of a device's events.
inline constexpr size_t kBatchGroups = 2;

// ArrivalOf() is the event that a group's batches have arrived; DoneOf() the event that the work
// queued for the group is done.
constexpr DeviceEvent ArrivalOf(size_t group) { return 2 * group; }
constexpr DeviceEvent DoneOf(size_t group) { return 2 * group + 1; }

// Events for DeviceList::AddOrder(); each is waited for at once.
inline constexpr DeviceEvent kBucketIsComputed = 2 * kBatchGroups;
inline constexpr DeviceEvent kBucketsAreExchanged = kBucketIsComputed + 1;

static_assert(kBucketsAreExchanged + 1 == kDeviceEvents);

// A step's first batch restarts the sums of gradients; its last batch updates.
struct BatchKind {
  bool first = true;
  bool last = true;

  size_t index() const { return 2 * size_t{first} + size_t{last}; }
};
inline constexpr size_t kBatchKinds = 4;

// The work of a batch, in lists between which the host does its own part. Everything is in `first`
// for one rank alone, for ranks whose exchanges can be queued, and for a batch that does not
// update.
struct StepLists {
  DeviceList first, middle, last;
};

// The objects that the lists work on.
struct StepParts {
  const DeviceProgram& training;
  const DeviceProgram& inference;
  const TrainingMemory& memory;
  const GradientMerge& merge;
  const ExchangeProgress& progress;
  // The buckets in the order in which `training` finishes them; a single one unless exchanges can
  // be queued.
  std::span<const GradientBucket> buckets;
  Device& device;
};

// Borrows its arguments. Thread-compatible.
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
  // The list for steps of one batch each, in several slots, one after the other. REQUIRES: one rank
  // alone, or exchanges that can be queued.
  DeviceList Batches(size_t first_slot, size_t count) const;
  // The list of an inference, which also sends the batch.
  DeviceList Inference(size_t slot) const;

 private:
  using Ops = std::vector<DeviceOp>;
  // The operations for one of this rank's shards.
  Ops Gradients(size_t slot, size_t shard, BatchKind kind) const;
  Ops Gradients(size_t slot, BatchKind kind) const;
  Ops Update(size_t slot) const;
  GradientRange All() const { return {0, memory_.sizes().arena}; }
  // The exchange of each bucket begins on a separate stream, behind the last operation that writes
  // to the bucket. The update comes behind all of them.
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

// A gradient-norm operation, for finding the workspace that it needs.
DeviceOp GradientNormOf(size_t count);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_STEP_LISTS_H_
