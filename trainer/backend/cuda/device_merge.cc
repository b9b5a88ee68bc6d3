#include "trainer/backend/cuda/device_merge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

constexpr size_t kAlignment = 16;  // Slices begin at multiples of so many floats: 64 bytes.

std::span<uint8_t> Bytes(float* from, size_t count) {
  return {reinterpret_cast<uint8_t*>(from), count * sizeof(float)};
}

absl::StatusOr<float*> HostFloats(Device& device, size_t count) {
  PENSTOCK_ASSIGN_OR_RETURN(void* memory,
                            device.AllocateHost(std::max<size_t>(count, 1) * sizeof(float)));
  return static_cast<float*>(memory);
}

}  // namespace

DeviceMerge::DeviceMerge(Communicator& ranks, std::span<const ShardAddition> tree, size_t shards,
                         size_t size)
    : ranks_(ranks),
      plan_(PlanMerge(tree, shards, ranks.size())),
      size_(size),
      own_(shards / ranks.size()),
      first_(ranks.rank() * own_) {
  for (size_t shard : plan_.open) (Owns(shard) ? own_open_ : foreign_open_).push_back(shard);
}

DeviceMerge::Slice DeviceMerge::SliceOf(size_t rank) const {
  const size_t blocks = (size_ + kAlignment - 1) / kAlignment;
  auto begin = [&](size_t r) { return std::min(size_, r * blocks / ranks_.size() * kAlignment); };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

void DeviceMerge::AddMemory(MemoryPlan& plan) {
  if (ranks_.size() == 1) return;
  const size_t count = foreign_open_.size() * SliceOf(ranks_.rank()).count;
  received_region_ =
      plan.Add("exchange", count * sizeof(float),
               absl::StrCat("this rank's slice of ", foreign_open_.size(), " shards of others"));
}

absl::Status DeviceMerge::Bind(Device& device, const MemoryPlan& plan, float* gradients) {
  gradients_ = gradients;
  if (ranks_.size() == 1) return absl::OkStatus();
  received_ = plan.at<float>(received_region_);
  if (!IsStaged()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(host_sent_, HostFloats(device, own_open_.size() * size_));
  PENSTOCK_ASSIGN_OR_RETURN(
      host_received_, HostFloats(device, foreign_open_.size() * SliceOf(ranks_.rank()).count));
  PENSTOCK_ASSIGN_OR_RETURN(host_sum_, HostFloats(device, size_));
  return absl::OkStatus();
}

DeviceOp DeviceMerge::AddOf(const float* addend, size_t count, float* sum) const {
  const size_t bytes = count * sizeof(float);
  return {.kind = DeviceOpKind::kAdd,
          .count = count,
          .operands = {{const_cast<float*>(addend), bytes, Access::kRead},
                       {sum, bytes, Access::kReadWrite}}};
}

DeviceOp DeviceMerge::CopyOf(const float* from, bool from_host, size_t count, float* to,
                             bool to_host) const {
  const size_t bytes = count * sizeof(float);
  return {.kind = DeviceOpKind::kCopy,
          .operands = {{const_cast<float*>(from), bytes, Access::kRead, from_host},
                       {to, bytes, Access::kWrite, to_host}}};
}

float* DeviceMerge::SliceAt(size_t shard) const {
  const Slice own = SliceOf(ranks_.rank());
  if (Owns(shard)) return GradientsOf(shard) + own.first;
  const auto at = std::lower_bound(foreign_open_.begin(), foreign_open_.end(), shard);
  return received_ + static_cast<size_t>(at - foreign_open_.begin()) * own.count;
}

std::vector<DeviceOp> DeviceMerge::BeforeExchange() const {
  std::vector<DeviceOp> ops;
  for (const ShardAddition& addition : plan_.local) {
    if (!Owns(addition.sum)) continue;
    ops.push_back(AddOf(GradientsOf(addition.addend), size_, GradientsOf(addition.sum)));
  }
  if (ranks_.size() == 1 || !IsStaged()) return ops;
  for (size_t i = 0; i < own_open_.size(); ++i) {
    ops.push_back(CopyOf(GradientsOf(own_open_[i]), false, size_, host_sent_ + i * size_, true));
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
      if (r != ranks_.rank()) out.push_back({r, Bytes(sum + theirs.first, theirs.count)});
    }
  }
  const size_t count = SliceOf(ranks_.rank()).count;
  for (size_t i = 0; i < foreign_open_.size(); ++i) {
    float* place = (IsStaged() ? host_received_ : received_) + i * count;
    in.push_back({foreign_open_[i] / own_, Bytes(place, count)});
  }
  return ranks_.Exchange(out, in);
}

std::vector<DeviceOp> DeviceMerge::BeforeGather() const {
  std::vector<DeviceOp> ops;
  if (ranks_.size() == 1) return ops;
  const Slice own = SliceOf(ranks_.rank());
  if (IsStaged()) {
    ops.push_back(CopyOf(host_received_, true, foreign_open_.size() * own.count, received_, false));
  }
  for (const ShardAddition& addition : plan_.rest) {
    ops.push_back(AddOf(SliceAt(addition.addend), own.count, SliceAt(addition.sum)));
  }
  if (IsStaged()) {
    ops.push_back(CopyOf(SliceAt(0), false, own.count, host_sum_ + own.first, true));
  } else if (SliceAt(0) != gradients_ + own.first) {
    ops.push_back(CopyOf(SliceAt(0), false, own.count, gradients_ + own.first, false));
  }
  return ops;
}

absl::Status DeviceMerge::Gather() {
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Slice slice = SliceOf(r);
    parts.push_back(Bytes((IsStaged() ? host_sum_ : gradients_) + slice.first, slice.count));
  }
  return ranks_.AllGather(parts);
}

std::vector<DeviceOp> DeviceMerge::AfterGather() const {
  if (ranks_.size() == 1 || !IsStaged()) return {};
  return {CopyOf(host_sum_, true, size_, gradients_, false)};
}

}  // namespace penstock
