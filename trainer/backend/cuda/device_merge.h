// ShardMerge on a device: the sum of all virtual shards in the order of one tree, whatever the
// ranks.
#ifndef PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_MERGE_H_
#define PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_MERGE_H_

#include <vector>

#include "trainer/backend/cuda/gradient_merge.h"

namespace penstock {

class DeviceMerge final : public GradientMerge {
 public:
  DeviceMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards, size_t size);

  void AddMemory(MemoryPlan& plan) override;
  absl::Status Bind(Device& device, const MemoryPlan& plan, float* gradients) override;
  std::vector<DeviceOp> BeforeExchange() const override;
  absl::Status Exchange() override;
  std::vector<DeviceOp> BeforeGather() const override;
  absl::Status Gather() override;
  std::vector<DeviceOp> AfterGather() const override;

 private:
  // This rank's slice of an open shard, on the device.
  float* SliceAt(size_t shard) const;

  std::vector<size_t> own_open_, foreign_open_;  // Of plan_.open, increasing.
  MemoryPlan::Region received_region_ = 0;
  float* received_ = nullptr;  // (foreign open shards, own slice) on the device.
  // Of the host, where IsStaged(): (own open shards, size), as received_, and (size).
  float* host_sent_ = nullptr;
  float* host_received_ = nullptr;
  float* host_sum_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CUDA_DEVICE_MERGE_H_
