#include "trainer/backend/device/device_state.h"

#include "base/status.h"

namespace penstock {

absl::Status DeviceState::Send(const void* from, size_t bytes, void* to) {
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{const_cast<void*>(from), bytes, Access::kRead, /*host=*/true},
                                   {to, bytes, Access::kWrite}}};
  PENSTOCK_RETURN_IF_ERROR(device_.Run(copy, DeviceQueue::kCompute));
  return device_.Synchronize(DeviceQueue::kCompute);
}

absl::Status DeviceState::SendArena(const std::vector<float>& arena, float* to) {
  const std::vector<float> padded = layout_.Pad(arena);
  return Send(padded.data(), padded.size() * sizeof(float), to);
}

absl::Status DeviceState::Prepare() {
  const std::vector<uint8_t> decays = layout_.Decays();
  return Send(decays.data(), decays.size(), memory_.decays());
}

absl::Status DeviceState::Write(const TrainState& state) {
  constexpr double kFinite = 0;
  PENSTOCK_RETURN_IF_ERROR(SendArena(state.parameters, memory_.parameters()));
  PENSTOCK_RETURN_IF_ERROR(SendArena(state.m, memory_.m()));
  PENSTOCK_RETURN_IF_ERROR(SendArena(state.v, memory_.v()));
  PENSTOCK_RETURN_IF_ERROR(Send(&kFinite, sizeof(kFinite), memory_.norm()));
  if (memory_.copies() == nullptr) return absl::OkStatus();
  const std::vector<Bf16> copies = ToBf16(layout_.Pad(state.parameters));
  return Send(copies.data(), copies.size() * sizeof(Bf16), memory_.copies());
}

absl::StatusOr<std::vector<float>> DeviceState::ReadArena(const float* from) {
  std::vector<float> arena(layout_.padded().arena_size());
  const size_t bytes = arena.size() * sizeof(float);
  // A wait has a limit here; the copy below, into memory that is not page-locked, would have none.
  PENSTOCK_RETURN_IF_ERROR(device_.Synchronize(DeviceQueue::kCompute));
  const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                      .operands = {{const_cast<float*>(from), bytes, Access::kRead},
                                   {arena.data(), bytes, Access::kWrite, /*host=*/true}}};
  PENSTOCK_RETURN_IF_ERROR(device_.Run(copy, DeviceQueue::kCompute));
  PENSTOCK_RETURN_IF_ERROR(device_.Synchronize(DeviceQueue::kCompute));
  return layout_.Unpad(arena);
}

absl::StatusOr<TrainState> DeviceState::Read(uint64_t step) {
  TrainState state;
  state.step = step;
  PENSTOCK_ASSIGN_OR_RETURN(state.parameters, ReadArena(memory_.parameters()));
  PENSTOCK_ASSIGN_OR_RETURN(state.m, ReadArena(memory_.m()));
  PENSTOCK_ASSIGN_OR_RETURN(state.v, ReadArena(memory_.v()));
  return state;
}

}  // namespace penstock
