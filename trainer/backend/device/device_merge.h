// ShardMerge on a device: sums all virtual shards in the order of one tree, for any division among
// ranks.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_MERGE_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_MERGE_H_

#include <vector>

#include "trainer/backend/device/gradient_merge.h"

namespace penstock {

class DeviceMerge final : public GradientMerge {
 public:
  DeviceMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards, size_t size);

  absl::Status Bind(Device& device, const MemoryPlan& plan, float* gradients) override;
  std::vector<DeviceOp> BeforeExchange(GradientRange range) const override;
  Transfer Exchange(GradientRange range) const override;
  std::vector<DeviceOp> BeforeGather(GradientRange range) const override;
  Transfer Gather(GradientRange range) const override;
  std::vector<DeviceOp> AfterGather(GradientRange range) const override;

 private:
  void AddRegions(MemoryPlan& plan) override;
  // This rank's slice of the range of an open shard, on the device.
  float* SliceAt(size_t shard, GradientRange range) const;
  // SentAt() is the address at which the communicator reads the range of own_open_[i]. SumAt() is
  // the address at which it writes the sum.
  float* SentAt(size_t i, GradientRange range) const;
  float* SumAt(GradientRange range) const {
    return IsStaged() ? host_sum_ : gradients_ + range.first;
  }

  std::vector<size_t> own_open_, foreign_open_;  // Shards of plan_.open, ascending.
  MemoryPlan::Region received_region_ = 0;
  float* received_ = nullptr;  // (foreign open shards, own slice) on the device.
  // Host memory that is used if IsStaged(). The shapes are (own open shards, range), that of
  // received_, and (range).
  float* host_sent_ = nullptr;
  float* host_received_ = nullptr;
  float* host_sum_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_DEVICE_MERGE_H_
