#include "trainer/backend/cuda/device_half_merge.h"

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "trainer/backend/cuda/host_array.h"

namespace penstock {

void DeviceHalfMerge::AddMemory(MemoryPlan& plan) {
  halves_region_ = plan.Add("exchange", size_ * kBytes, "a rank's gradients in 16 bits");
  slices_region_ = plan.Add("slices", received() * kBytes,
                            absl::StrCat("of ", ranks_.size(), " ranks, in 16 bits"));
  sums_region_ = plan.Add("sums", received() * sizeof(float), "the slices, fp32");
}

absl::Status DeviceHalfMerge::Bind(Device& device, const MemoryPlan& plan, float* gradients) {
  gradients_ = gradients;
  sent_ = halves_ = plan.at<uint16_t>(halves_region_);
  arrived_ = slices_ = plan.at<uint16_t>(slices_region_);
  sums_ = plan.at<float>(sums_region_);
  if (!IsStaged()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(sent_, AllocateHostArray<uint16_t>(device, size_));
  PENSTOCK_ASSIGN_OR_RETURN(arrived_, AllocateHostArray<uint16_t>(device, received()));
  return absl::OkStatus();
}

DeviceOp DeviceHalfMerge::Narrow(const float* from, size_t count, uint16_t* to) const {
  return {.kind = DeviceOpKind::kNarrow,
          .bf16 = wire_ == WireFloat::kBf16,
          .count = count,
          .operands = {{const_cast<float*>(from), count * sizeof(float), Access::kRead},
                       {to, count * kBytes, Access::kWrite}}};
}

DeviceOp DeviceHalfMerge::Widen(const uint16_t* from, size_t count, float* to) const {
  return {.kind = DeviceOpKind::kWiden,
          .bf16 = wire_ == WireFloat::kBf16,
          .count = count,
          .operands = {{const_cast<uint16_t*>(from), count * kBytes, Access::kRead},
                       {to, count * sizeof(float), Access::kWrite}}};
}

std::vector<DeviceOp> DeviceHalfMerge::BeforeExchange() const {
  std::vector<DeviceOp> ops = LocalAdditions();
  ops.push_back(Narrow(gradients_, size_, halves_));
  if (IsStaged()) ops.push_back(CopyOf(halves_, false, size_ * kBytes, sent_, true));
  return ops;
}

absl::Status DeviceHalfMerge::Exchange() {
  std::vector<Communicator::Outgoing> out;
  std::vector<Communicator::Incoming> in;
  const size_t count = OwnSlice().count;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Slice theirs = SliceOf(r);
    out.push_back({r, Bytes(sent_ + theirs.first, theirs.count * kBytes)});
    in.push_back({r, Bytes(arrived_ + r * count, count * kBytes)});
  }
  return ranks_.Exchange(out, in);
}

std::vector<DeviceOp> DeviceHalfMerge::BeforeGather() const {
  const Slice own = OwnSlice();
  std::vector<DeviceOp> ops;
  if (IsStaged()) ops.push_back(CopyOf(arrived_, true, received() * kBytes, slices_, false));
  ops.push_back(Widen(slices_, received(), sums_));
  for (const ShardAddition& addition : plan_.rest) {
    ops.push_back(AddOf(sums_ + addition.addend / own_ * own.count, own.count,
                        sums_ + addition.sum / own_ * own.count));
  }
  ops.push_back(Narrow(sums_, own.count, halves_ + own.first));
  if (IsStaged()) {
    ops.push_back(CopyOf(halves_ + own.first, false, own.count * kBytes, sent_ + own.first, true));
  }
  return ops;
}

absl::Status DeviceHalfMerge::Gather() {
  std::vector<std::span<uint8_t>> parts;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Slice slice = SliceOf(r);
    parts.push_back(Bytes(sent_ + slice.first, slice.count * kBytes));
  }
  return ranks_.AllGather(parts);
}

std::vector<DeviceOp> DeviceHalfMerge::AfterGather() const {
  std::vector<DeviceOp> ops;
  if (IsStaged()) ops.push_back(CopyOf(sent_, true, size_ * kBytes, halves_, false));
  ops.push_back(Widen(halves_, size_, gradients_));
  return ops;
}

}  // namespace penstock
