// Exchanges gradients between devices in 16 bits, by the same rules as ShardMerge.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_HALF_MERGE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_HALF_MERGE_H_

#include <cstdint>
#include <vector>

#include "trainer/backend/device/gradient_merge.h"

namespace penstock {

// Each rank rounds its sum and sends it in slices, including its own. A rank adds its slices from
// all ranks in rank order, in fp32, and rounds the result for all.
class DeviceHalfMerge final : public GradientMerge {
 public:
  // REQUIRES: several ranks; a tree that leaves one sum per rank (FastTree()); not fp32.
  DeviceHalfMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                  size_t size, WireFloat wire)
      : GradientMerge(ranks, tree, shards, size), wire_(wire) {}

  absl::Status Bind(Device& device, const MemoryPlan& plan, float* gradients) override;
  std::vector<DeviceOp> BeforeExchange(GradientRange range) const override;
  Transfer Exchange(GradientRange range) const override;
  std::vector<DeviceOp> BeforeGather(GradientRange range) const override;
  Transfer Gather(GradientRange range) const override;
  std::vector<DeviceOp> AfterGather(GradientRange range) const override;

 private:
  static constexpr size_t kBytes = sizeof(uint16_t);
  void AddRegions(MemoryPlan& plan) override;
  size_t received(size_t slice) const { return ranks_.size() * slice; }
  DeviceOp Narrow(const float* from, size_t count, uint16_t* to) const;
  DeviceOp Widen(const uint16_t* from, size_t count, float* to) const;

  const WireFloat wire_;
  MemoryPlan::Region halves_region_ = 0, slices_region_ = 0, sums_region_ = 0;
  uint16_t* halves_ = nullptr;  // (range) on the device: this rank's sum, later that of all.
  uint16_t* slices_ = nullptr;  // (ranks, own slice)
  float* sums_ = nullptr;       // (ranks, own slice)
  // Memory that the communicator reads and writes: these arrays, or page-locked memory of the same
  // shape.
  uint16_t* sent_ = nullptr;
  uint16_t* arrived_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_HALF_MERGE_H_
