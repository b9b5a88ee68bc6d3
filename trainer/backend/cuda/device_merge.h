// ShardMerge on a device: the gradients of virtual shards become one sum, in the order of one tree
// whatever the ranks. What crosses ranks goes through a Communicator: from device memory where that
// takes it, else by way of page-locked host memory.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_MERGE_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_MERGE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/memory_plan.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/shard_merge.h"

namespace penstock {

// A step calls, in this order, with the lists run and waited for in between: BeforeExchange(),
// Exchange(), BeforeGather(), Gather(), AfterGather(). One rank alone has only the first.
// Not thread-safe.
class DeviceMerge {
 public:
  // `ranks` must outlive it. `size`: floats of one shard's gradients.
  DeviceMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards, size_t size);

  size_t first_shard() const { return first_; }
  size_t num_shards() const { return own_; }
  bool alone() const { return ranks_.size() == 1; }

  // Adds the device memory it needs; then, once that is taken, where the gradients lie: (own
  // shards, size) floats.
  void AddMemory(MemoryPlan& plan);
  absl::Status Bind(Device& device, const MemoryPlan& plan, float* gradients);

  std::vector<DeviceOp> BeforeExchange() const;
  absl::Status Exchange();
  std::vector<DeviceOp> BeforeGather() const;
  absl::Status Gather();
  std::vector<DeviceOp> AfterGather() const;

 private:
  struct Slice {
    size_t first, count;
  };
  Slice SliceOf(size_t rank) const;
  bool Owns(size_t shard) const { return shard >= first_ && shard < first_ + own_; }
  bool IsStaged() const { return ranks_.memory() == Communicator::Memory::kHost; }
  float* GradientsOf(size_t shard) const { return gradients_ + (shard - first_) * size_; }
  // This rank's slice of an open shard, on the device.
  float* SliceAt(size_t shard) const;
  DeviceOp AddOf(const float* addend, size_t count, float* sum) const;
  DeviceOp CopyOf(const float* from, bool from_host, size_t count, float* to, bool to_host) const;

  Communicator& ranks_;
  const MergePlan plan_;
  const size_t size_;
  const size_t own_;
  const size_t first_;
  std::vector<size_t> own_open_, foreign_open_;  // Of plan_.open, increasing.
  MemoryPlan::Region received_region_ = 0;
  float* gradients_ = nullptr;
  float* received_ = nullptr;  // (foreign open shards, own slice) on the device.
  // Of the host, where IsStaged(): (own open shards, size), as received_, and (size).
  float* host_sent_ = nullptr;
  float* host_received_ = nullptr;
  float* host_sum_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_MERGE_H_
