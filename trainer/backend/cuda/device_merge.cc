#include "trainer/backend/cuda/device_merge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "trainer/backend/cuda/host_array.h"

namespace penstock {

DeviceMerge::DeviceMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                         size_t size)
    : GradientMerge(ranks, tree, shards, size) {
  for (size_t shard : plan_.open) (Owns(shard) ? own_open_ : foreign_open_).push_back(shard);
}

void DeviceMerge::AddMemory(MemoryPlan& plan) {
  if (ranks_.size() == 1) return;
  const size_t count = foreign_open_.size() * OwnSlice().count;
  received_region_ =
      plan.Add("exchange", count * sizeof(float),
               absl::StrCat("this rank's slice of ", foreign_open_.size(), " shards of others"));
}

absl::Status DeviceMerge::Bind(Device& device, const MemoryPlan& plan, float* gradients) {
  gradients_ = gradients;
  if (ranks_.size() == 1) return absl::OkStatus();
  received_ = plan.at<float>(received_region_);
  if (!IsStaged()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(host_sent_, AllocateHostArray<float>(device, own_open_.size() * size_));
  PENSTOCK_ASSIGN_OR_RETURN(
      host_received_, AllocateHostArray<float>(device, foreign_open_.size() * OwnSlice().count));
  PENSTOCK_ASSIGN_OR_RETURN(host_sum_, AllocateHostArray<float>(device, size_));
  return absl::OkStatus();
}

float* DeviceMerge::SliceAt(size_t shard) const {
  const Slice own = OwnSlice();
  if (Owns(shard)) return GradientsOf(shard) + own.first;
  const auto at = std::lower_bound(foreign_open_.begin(), foreign_open_.end(), shard);
  return received_ + static_cast<size_t>(at - foreign_open_.begin()) * own.count;
}

std::vector<DeviceOp> DeviceMerge::BeforeExchange() const {
  std::vector<DeviceOp> ops = LocalAdditions();
  if (ranks_.size() == 1 || !IsStaged()) return ops;
  for (size_t i = 0; i < own_open_.size(); ++i) {
    ops.push_back(CopyOf(GradientsOf(own_open_[i]), false, size_ * sizeof(float),
                         host_sent_ + i * size_, true));
  }
  return ops;
}

absl::Status DeviceMerge::Exchange() {
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  for (size_t i = 0; i < own_open_.size(); ++i) {
    float* sum = IsStaged() ? host_sent_ + i * size_ : GradientsOf(own_open_[i]);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Slice theirs = SliceOf(r);
      if (r != ranks_.rank())
        out.push_back({r, Bytes(sum + theirs.first, theirs.count * sizeof(float))});
    }
  }
  const size_t count = OwnSlice().count;
  for (size_t i = 0; i < foreign_open_.size(); ++i) {
    float* place = (IsStaged() ? host_received_ : received_) + i * count;
    in.push_back({foreign_open_[i] / own_, Bytes(place, count * sizeof(float))});
  }
  return ranks_.Exchange(out, in);
}

std::vector<DeviceOp> DeviceMerge::BeforeGather() const {
  std::vector<DeviceOp> ops;
  if (ranks_.size() == 1) return ops;
  const Slice own = OwnSlice();
  if (IsStaged()) {
    ops.push_back(CopyOf(host_received_, true, foreign_open_.size() * own.count * sizeof(float),
                         received_, false));
  }
  for (const ShardAddition& addition : plan_.rest) {
    ops.push_back(AddOf(SliceAt(addition.addend), own.count, SliceAt(addition.sum)));
  }
  if (IsStaged()) {
    ops.push_back(
        CopyOf(SliceAt(0), false, own.count * sizeof(float), host_sum_ + own.first, true));
  } else if (SliceAt(0) != gradients_ + own.first) {
    ops.push_back(
        CopyOf(SliceAt(0), false, own.count * sizeof(float), gradients_ + own.first, false));
  }
  return ops;
}

absl::Status DeviceMerge::Gather() {
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Slice slice = SliceOf(r);
    parts.push_back(
        Bytes((IsStaged() ? host_sum_ : gradients_) + slice.first, slice.count * sizeof(float)));
  }
  return ranks_.AllGather(parts);
}

std::vector<DeviceOp> DeviceMerge::AfterGather() const {
  if (ranks_.size() == 1 || !IsStaged()) return {};
  return {CopyOf(host_sum_, true, size_ * sizeof(float), gradients_, false)};
}

}  // namespace penstock
