// Merges the gradients of virtual shards on a device into one sum over all ranks.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_GRADIENT_MERGE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_GRADIENT_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/device/device.h"
#include "trainer/backend/device/memory_plan.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/shard_merge.h"
#include "trainer/step/gradient_buckets.h"

namespace penstock {

// Messages between ranks, as Communicator::Exchange() takes them.
struct Transfer {
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
};

// Each call works on one range of each shard's gradients, and reads and writes nothing else. The
// bits do not depend on the ranges. Data that crosses ranks lies in device memory if the
// communicator accepts that, else in page-locked host memory. Call the methods in this order, each
// after the previous one is done: BeforeExchange(), Exchange(), BeforeGather(), Gather(),
// AfterGather(). One rank alone needs only the first. Not thread-safe.
class GradientMerge {
 public:
  // `ranks` must outlive this object. `size` is the number of floats in one shard's gradients. If
  // `wire` is not fp32, the tree must leave one sum per rank. Then the sent data is rounded, and so
  // is the sum, so that it is the same on all ranks.
  static std::unique_ptr<GradientMerge> Make(Communicator& ranks,
                                             std::span<const ShardAddition> tree, size_t shards,
                                             size_t size, WireFloat wire);
  virtual ~GradientMerge() = default;

  size_t first_shard() const { return first_; }
  size_t num_shards() const { return own_; }
  bool alone() const { return ranks_.size() == 1; }
  Communicator& ranks() const { return ranks_; }

  // AddMemory() adds the device memory for ranges of up to `largest` floats, one range at a time.
  // Call Bind() once the memory is taken; it passes the address of the gradients, (own shards,
  // size) floats.
  void AddMemory(MemoryPlan& plan, size_t largest);
  virtual absl::Status Bind(Device& device, const MemoryPlan& plan, float* gradients) = 0;

  virtual std::vector<DeviceOp> BeforeExchange(GradientRange range) const = 0;
  virtual Transfer Exchange(GradientRange range) const = 0;
  virtual std::vector<DeviceOp> BeforeGather(GradientRange range) const = 0;
  virtual Transfer Gather(GradientRange range) const = 0;
  virtual std::vector<DeviceOp> AfterGather(GradientRange range) const = 0;

 protected:
  GradientMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                size_t size);

  virtual void AddRegions(MemoryPlan& plan) = 0;
  // The slice of `count` floats that `rank` sums.
  GradientRange SliceOf(size_t rank, size_t count) const {
    const size_t begin = SliceBegin(rank, ranks_.size(), count);
    return {begin, SliceBegin(rank + 1, ranks_.size(), count) - begin};
  }
  GradientRange OwnSlice(size_t count) const { return SliceOf(ranks_.rank(), count); }
  // The largest OwnSlice().
  size_t LargestSlice() const { return penstock::LargestSlice(ranks_.size(), largest_); }
  bool Owns(size_t shard) const { return shard >= first_ && shard < first_ + own_; }
  bool IsStaged() const { return ranks_.memory() == Communicator::Memory::kHost; }
  float* GradientsOf(size_t shard) const { return gradients_ + (shard - first_) * size_; }
  // Returns the additions among this rank's own shards.
  std::vector<DeviceOp> LocalAdditions(GradientRange range) const;
  // Sends every rank's slice of the array at `from` to all ranks.
  template <typename T>
  Transfer GatherSlices(T* from, size_t count) const {
    auto bytes = [&](size_t rank) {
      const GradientRange slice = SliceOf(rank, count);
      return Bytes(from + slice.first, slice.count * sizeof(T));
    };
    Transfer transfer;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (r == ranks_.rank()) continue;
      transfer.out.push_back({r, bytes(ranks_.rank())});
      transfer.in.push_back({r, bytes(r)});
    }
    return transfer;
  }
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
  size_t largest_ = 0;
  float* gradients_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_GRADIENT_MERGE_H_
