// The gradients of virtual shards on a device become one sum over all ranks.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_GRADIENT_MERGE_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_GRADIENT_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/memory_plan.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/shard_merge.h"

namespace penstock {

// What crosses ranks goes through a Communicator: from device memory where that takes it, else by
// way of page-locked host memory. A step calls, in this order, with the lists run and waited for in
// between: BeforeExchange(), Exchange(), BeforeGather(), Gather(), AfterGather(). One rank alone
// has only the first. Not thread-safe.
class GradientMerge {
 public:
  // `ranks` must outlive it. `size`: floats of one shard's gradients. With another `wire` than fp32
  // the tree leaves one sum a rank: what travels is rounded, and the sum too, so that it is still
  // the same on all ranks.
  static std::unique_ptr<GradientMerge> Make(Communicator& ranks,
                                             std::span<const ShardAddition> tree, size_t shards,
                                             size_t size, WireFloat wire);
  virtual ~GradientMerge() = default;

  size_t first_shard() const { return first_; }
  size_t num_shards() const { return own_; }
  bool alone() const { return ranks_.size() == 1; }

  // Adds the device memory it needs; then, once that is taken, where the gradients lie: (own
  // shards, size) floats.
  virtual void AddMemory(MemoryPlan& plan) = 0;
  virtual absl::Status Bind(Device& device, const MemoryPlan& plan, float* gradients) = 0;

  virtual std::vector<DeviceOp> BeforeExchange() const = 0;
  virtual absl::Status Exchange() = 0;
  virtual std::vector<DeviceOp> BeforeGather() const = 0;
  virtual absl::Status Gather() = 0;
  virtual std::vector<DeviceOp> AfterGather() const = 0;

 protected:
  struct Slice {
    size_t first, count;
  };
  GradientMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                size_t size);

  Slice SliceOf(size_t rank) const;
  Slice OwnSlice() const { return SliceOf(ranks_.rank()); }
  bool Owns(size_t shard) const { return shard >= first_ && shard < first_ + own_; }
  bool IsStaged() const { return ranks_.memory() == Communicator::Memory::kHost; }
  float* GradientsOf(size_t shard) const { return gradients_ + (shard - first_) * size_; }
  // Of shards of this rank.
  std::vector<DeviceOp> LocalAdditions() const;
  static DeviceOp AddOf(const float* addend, size_t count, float* sum);
  static DeviceOp CopyOf(const void* from, bool from_host, size_t bytes, void* to, bool to_host);
  static std::span<uint8_t> Bytes(void* from, size_t bytes) {
    return {static_cast<uint8_t*>(from), bytes};
  }

  Communicator& ranks_;
  const MergePlan plan_;
  const size_t size_;
  const size_t own_;
  const size_t first_;
  float* gradients_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_GRADIENT_MERGE_H_
