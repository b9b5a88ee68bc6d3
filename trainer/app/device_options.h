// The options of penstock-train about the device that it trains on.
#ifndef PENSTOCK_TRAINER_APP_DEVICE_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_DEVICE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace penstock {

struct DeviceFlags {
  std::string device = "auto";
  double gpu_memory_fraction = 0.9;
  bool no_graph = false;
  uint64_t steps_per_launch = 1;
  bool allow_shared_gpu = false;

  // kInvalidArgument: the message names the option.
  absl::Status Validate() const;
  // kInvalidArgument: `device` resolved to the CPU, which lacks a requested feature.
  absl::Status CheckForCpu() const;
  // A line that names the given options that have no effect on the CPU; empty if there are none.
  std::string WithoutEffectOnCpu() const;
};

// `flags` must outlive `app`. Sets the group of the options that are added next.
void AddDeviceOptions(CLI::App& app, DeviceFlags& flags);

// If no launch can ever have as many steps as requested, returns the reason and the --look-ahead
// that is needed; otherwise an empty string.
std::string LaunchesLackSlots(uint64_t steps_per_launch, uint64_t look_ahead_bytes,
                              uint64_t slot_bytes);

// A parsed --device.
struct DeviceChoice {
  enum class Kind { kAuto, kCpu, kCuda } kind = Kind::kAuto;
  std::optional<size_t> gpu = std::nullopt;  // The N of "cuda:N".
};

// kInvalidArgument: not auto, cpu, cuda or cuda:N.
absl::StatusOr<DeviceChoice> ParseDevice(absl::string_view device);

// Returns which of the `gpus` GPUs is used by the rank that has number `local_rank` on its host. It
// is the named GPU, else the only one that the launcher makes visible, else GPU `local_rank`. With
// `allow_shared`, ranks wrap around to the first GPU. kInvalidArgument: there is no such GPU. Two
// ranks on one GPU are detected when they connect.
absl::StatusOr<size_t> ChooseGpu(const DeviceChoice& choice, size_t local_rank, size_t gpus,
                                 bool allow_shared);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_DEVICE_OPTIONS_H_
