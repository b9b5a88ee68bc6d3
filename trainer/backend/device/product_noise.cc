#include "trainer/backend/device/product_noise.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/status.h"
#include "kernels/numeric/bf16.h"
#include "trainer/backend/device/host_array.h"

namespace penstock {
namespace {

constexpr size_t kNoiseBytes = size_t{1} << 20;

template <typename T>
void FillNoise(char* to) {
  uint32_t state = 1;
  for (size_t at = 0; at < kNoiseBytes; at += sizeof(T)) {
    state = state * 1664525 + 1013904223;
    const T value = FromFloat<T>(static_cast<float>(state >> 8) / float(1 << 23) - 1);
    std::memcpy(to + at, &value, sizeof(T));
  }
}

absl::Status Fill(const DeviceOperand& to, char* noise, Device& device) {
  for (size_t at = 0; at < to.bytes; at += kNoiseBytes) {
    const size_t bytes = std::min(kNoiseBytes, to.bytes - at);
    const DeviceOp copy{.kind = DeviceOpKind::kCopy,
                        .operands = {{noise, bytes, Access::kRead, /*host=*/true},
                                     {static_cast<char*>(to.at) + at, bytes, Access::kWrite}}};
    PENSTOCK_RETURN_IF_ERROR(device.Run(copy, DeviceQueue::kCompute));
  }
  return absl::OkStatus();
}

absl::Status FillAll(const std::vector<DeviceOp>& products, char* floats, char* halves,
                     Device& device) {
  for (const DeviceOp& op : products) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const bool is_float = !op.bf16 || (op.kind == DeviceOpKind::kLinearBackwardWeight && i == 2);
      PENSTOCK_RETURN_IF_ERROR(Fill(op.operands[i], is_float ? floats : halves, device));
    }
  }
  return device.Synchronize(DeviceQueue::kCompute);
}

}  // namespace

absl::Status FillOperands(const std::vector<DeviceOp>& products, Device& device) {
  PENSTOCK_ASSIGN_OR_RETURN(char* noise, AllocateHostArray<char>(device, 2 * kNoiseBytes));
  FillNoise<float>(noise);
  FillNoise<Bf16>(noise + kNoiseBytes);
  const absl::Status filled = FillAll(products, noise, noise + kNoiseBytes, device);
  device.FreeHost(noise);
  return filled;
}

}  // namespace penstock
