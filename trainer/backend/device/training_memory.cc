#include "trainer/backend/device/training_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "trainer/backend/device/host_array.h"

namespace penstock {
namespace {

template <typename T>
absl::Status TakeHost(Device& device, size_t count, T*& to) {
  PENSTOCK_ASSIGN_OR_RETURN(to, AllocateHostArray<T>(device, count));
  std::fill_n(to, count, T{});
  return absl::OkStatus();
}

}  // namespace

TrainingMemory::TrainingMemory(const TrainingSizes& sizes, const SlotLayout& slot)
    : sizes_(sizes), slot_(slot) {
  const size_t arena = arena_bytes();
  parameters_ = plan_.Add("parameters", arena, "fp32");
  copies_ = plan_.Add("copies", sizes.bf16 ? sizes.arena * sizeof(Bf16) : 0,
                      sizes.bf16 ? "of the parameters, bf16" : "none in fp32");
  moments_ = plan_.Add("moments", 2 * arena);
  gradients_ = plan_.Add("gradients", sizes.own_shards * arena,
                         absl::StrCat(sizes.own_shards, " of ", sizes.shards, " virtual shards"));
  activations_ =
      plan_.Add("activations", sizes.activation_bytes,
                absl::StrCat(slot.rows(), " samples at a time, ", sizes.bf16 ? "bf16" : "fp32"));
  workspace_ = plan_.Add("workspace", sizes.workspace_bytes);
  slots_ = plan_.Add("batches", sizes.slots * slot.bytes(),
                     absl::StrCat(sizes.slots, " slots, one of them for evaluation"));
  predictions_ = plan_.Add("predictions", predictions_bytes());
  norm_ = plan_.Add("norm", sizeof(double));
  decays_ = plan_.Add("decays", sizes.decays);
}

absl::Status TrainingMemory::Take(Device& device) {
  PENSTOCK_RETURN_IF_ERROR(plan_.Take(device));
  PENSTOCK_RETURN_IF_ERROR(TakeHost(device, sizes_.slots * slot_.bytes(), host_slots_));
  PENSTOCK_RETURN_IF_ERROR(TakeHost(device, sizes_.slots * predictions_count(), host_predictions_));
  return TakeHost(device, sizes_.slots, host_norms_);
}

uint64_t TrainingMemory::host_bytes() const {
  return sizes_.slots * (slot_.bytes() + predictions_bytes() + sizeof(double));
}

ShardMemory TrainingMemory::OfShard(size_t slot, size_t shard) const {
  char* batch = slot_at(slot);
  return {.parameters = parameters(),
          .copies = copies(),
          .gradients = gradients(shard),
          .activations = plan_.at(activations_),
          .input = batch + slot_.input(shard),
          .flags = batch + slot_.flags(shard),
          .targets = reinterpret_cast<float*>(batch + slot_.targets(shard)),
          .weights = reinterpret_cast<float*>(batch + slot_.weights(shard)),
          .predictions = predictions() + shard * slot_.rows() * sizes_.results,
          .workspace = workspace(),
          .draws = reinterpret_cast<DropoutDraw*>(batch + slot_.draws(shard))};
}

}  // namespace penstock
