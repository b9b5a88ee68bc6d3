#include "trainer/backend/device/device_merge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/host_array.h"

namespace penstock {

DeviceMerge::DeviceMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                         size_t size)
    : GradientMerge(ranks, tree, shards, size) {
  for (size_t shard : plan_.open) (Owns(shard) ? own_open_ : foreign_open_).push_back(shard);
}

void DeviceMerge::AddRegions(MemoryPlan& plan) {
  if (ranks_.size() == 1) return;
  received_region_ =
      plan.Add("exchange", foreign_open_.size() * LargestSlice() * sizeof(float),
               absl::StrCat("this rank's slice of ", foreign_open_.size(), " shards of others"));
}

absl::Status DeviceMerge::Bind(Device& device, const MemoryPlan& plan, float* gradients) {
  gradients_ = gradients;
  if (ranks_.size() == 1) return absl::OkStatus();
  received_ = plan.at<float>(received_region_);
  if (!IsStaged()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(host_sent_,
                            AllocateHostArray<float>(device, own_open_.size() * largest_));
  PENSTOCK_ASSIGN_OR_RETURN(
      host_received_, AllocateHostArray<float>(device, foreign_open_.size() * LargestSlice()));
  PENSTOCK_ASSIGN_OR_RETURN(host_sum_, AllocateHostArray<float>(device, largest_));
  return absl::OkStatus();
}

float* DeviceMerge::SliceAt(size_t shard, GradientRange range) const {
  const GradientRange own = OwnSlice(range.count);
  if (Owns(shard)) return GradientsOf(shard) + range.first + own.first;
  const auto at = std::lower_bound(foreign_open_.begin(), foreign_open_.end(), shard);
  return received_ + static_cast<size_t>(at - foreign_open_.begin()) * own.count;
}

float* DeviceMerge::SentAt(size_t i, GradientRange range) const {
  return IsStaged() ? host_sent_ + i * range.count : GradientsOf(own_open_[i]) + range.first;
}

std::vector<DeviceOp> DeviceMerge::BeforeExchange(GradientRange range) const {
  std::vector<DeviceOp> ops = LocalAdditions(range);
  if (ranks_.size() == 1 || !IsStaged()) return ops;
  for (size_t i = 0; i < own_open_.size(); ++i) {
    ops.push_back(CopyOf(GradientsOf(own_open_[i]) + range.first, false,
                         range.count * sizeof(float), SentAt(i, range), true));
  }
  return ops;
}

Transfer DeviceMerge::Exchange(GradientRange range) const {
  Transfer transfer;
  for (size_t i = 0; i < own_open_.size(); ++i) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (r == ranks_.rank()) continue;
      const GradientRange theirs = SliceOf(r, range.count);
      transfer.out.push_back(
          {r, Bytes(SentAt(i, range) + theirs.first, theirs.count * sizeof(float))});
    }
  }
  const size_t count = OwnSlice(range.count).count;
  for (size_t i = 0; i < foreign_open_.size(); ++i) {
    float* place = (IsStaged() ? host_received_ : received_) + i * count;
    transfer.in.push_back({foreign_open_[i] / own_, Bytes(place, count * sizeof(float))});
  }
  return transfer;
}

std::vector<DeviceOp> DeviceMerge::BeforeGather(GradientRange range) const {
  std::vector<DeviceOp> ops;
  const GradientRange own = OwnSlice(range.count);
  if (ranks_.size() == 1 || own.count == 0) return ops;
  if (IsStaged()) {
    ops.push_back(CopyOf(host_received_, true, foreign_open_.size() * own.count * sizeof(float),
                         received_, false));
  }
  for (const ShardAddition& addition : plan_.rest) {
    ops.push_back(AddOf(SliceAt(addition.addend, range), own.count, SliceAt(addition.sum, range)));
  }
  float* const sum = SumAt(range) + own.first;
  if (SliceAt(0, range) != sum) {
    ops.push_back(CopyOf(SliceAt(0, range), false, own.count * sizeof(float), sum, IsStaged()));
  }
  return ops;
}

Transfer DeviceMerge::Gather(GradientRange range) const {
  return GatherSlices(SumAt(range), range.count);
}

std::vector<DeviceOp> DeviceMerge::AfterGather(GradientRange range) const {
  if (ranks_.size() == 1 || !IsStaged()) return {};
  return {CopyOf(host_sum_, true, range.count * sizeof(float), gradients_ + range.first, false)};
}

}  // namespace penstock
