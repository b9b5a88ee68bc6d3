#include "trainer/backend/device/gradient_merge.h"

#include "trainer/backend/device/device_half_merge.h"
#include "trainer/backend/device/device_merge.h"

namespace penstock {

std::unique_ptr<GradientMerge> GradientMerge::Make(Communicator& ranks,
                                                   std::span<const ShardAddition> tree,
                                                   size_t shards, size_t size, WireFloat wire) {
  if (wire != WireFloat::kFp32 && ranks.size() > 1) {
    return std::make_unique<DeviceHalfMerge>(ranks, tree, shards, size, wire);
  }
  return std::make_unique<DeviceMerge>(ranks, tree, shards, size);
}

GradientMerge::GradientMerge(Communicator& ranks, std::span<const ShardAddition> tree,
                             size_t shards, size_t size)
    : ranks_(ranks),
      plan_(PlanMerge(tree, shards, ranks.size())),
      size_(size),
      own_(shards / ranks.size()),
      first_(ranks.rank() * own_) {}

void GradientMerge::AddMemory(MemoryPlan& plan, size_t largest) {
  largest_ = largest;
  AddRegions(plan);
}

DeviceOp GradientMerge::AddOf(const float* addend, size_t count, float* sum) {
  const size_t bytes = count * sizeof(float);
  return {.kind = DeviceOpKind::kAdd,
          .count = count,
          .operands = {{const_cast<float*>(addend), bytes, Access::kRead},
                       {sum, bytes, Access::kReadWrite}}};
}

DeviceOp GradientMerge::CopyOf(const void* from, bool from_host, size_t bytes, void* to,
                               bool to_host) {
  return {.kind = DeviceOpKind::kCopy,
          .operands = {{const_cast<void*>(from), bytes, Access::kRead, from_host},
                       {to, bytes, Access::kWrite, to_host}}};
}

std::vector<DeviceOp> GradientMerge::LocalAdditions(GradientRange range) const {
  std::vector<DeviceOp> ops;
  for (const ShardAddition& addition : plan_.local) {
    if (!Owns(addition.sum)) continue;
    ops.push_back(AddOf(GradientsOf(addition.addend) + range.first, range.count,
                        GradientsOf(addition.sum) + range.first));
  }
  return ops;
}

}  // namespace penstock
