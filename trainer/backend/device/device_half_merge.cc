#include "trainer/backend/device/device_half_merge.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/host_array.h"

namespace penstock {

void DeviceHalfMerge::AddRegions(MemoryPlan& plan) {
  const size_t slices = received(LargestSlice());
  halves_region_ = plan.Add("exchange", largest_ * kBytes, "a rank's gradients in 16 bits");
  slices_region_ =
      plan.Add("slices", slices * kBytes, absl::StrCat("of ", ranks_.size(), " ranks, in 16 bits"));
  sums_region_ = plan.Add("sums", slices * sizeof(float), "the slices, fp32");
}

absl::Status DeviceHalfMerge::Bind(Device& device, const MemoryPlan& plan, float* gradients) {
  gradients_ = gradients;
  sent_ = halves_ = plan.at<uint16_t>(halves_region_);
  arrived_ = slices_ = plan.at<uint16_t>(slices_region_);
  sums_ = plan.at<float>(sums_region_);
  if (!IsStaged()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(sent_, AllocateHostArray<uint16_t>(device, largest_));
  PENSTOCK_ASSIGN_OR_RETURN(arrived_,
                            AllocateHostArray<uint16_t>(device, received(LargestSlice())));
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

std::vector<DeviceOp> DeviceHalfMerge::BeforeExchange(GradientRange range) const {
  std::vector<DeviceOp> ops = LocalAdditions(range);
  ops.push_back(Narrow(gradients_ + range.first, range.count, halves_));
  if (IsStaged()) ops.push_back(CopyOf(halves_, false, range.count * kBytes, sent_, true));
  return ops;
}

Transfer DeviceHalfMerge::Exchange(GradientRange range) const {
  Transfer transfer;
  const size_t count = OwnSlice(range.count).count;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const GradientRange theirs = SliceOf(r, range.count);
    transfer.out.push_back({r, Bytes(sent_ + theirs.first, theirs.count * kBytes)});
    transfer.in.push_back({r, Bytes(arrived_ + r * count, count * kBytes)});
  }
  return transfer;
}

std::vector<DeviceOp> DeviceHalfMerge::BeforeGather(GradientRange range) const {
  const GradientRange own = OwnSlice(range.count);
  const size_t count = received(own.count);
  std::vector<DeviceOp> ops;
  if (own.count == 0) return ops;
  if (IsStaged()) ops.push_back(CopyOf(arrived_, true, count * kBytes, slices_, false));
  ops.push_back(Widen(slices_, count, sums_));
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

Transfer DeviceHalfMerge::Gather(GradientRange range) const {
  return GatherSlices(sent_, range.count);
}

std::vector<DeviceOp> DeviceHalfMerge::AfterGather(GradientRange range) const {
  std::vector<DeviceOp> ops;
  if (IsStaged()) ops.push_back(CopyOf(sent_, true, range.count * kBytes, halves_, false));
  ops.push_back(Widen(halves_, range.count, gradients_ + range.first));
  return ops;
}

}  // namespace penstock
