// What penstock-train can be told about the device it trains on.
#ifndef PENSTOCK_TRAINER_APP_DEVICE_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_DEVICE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct DeviceFlags {
  std::string device = "auto";
  double gpu_memory_fraction = 0.9;
  bool no_graph = false;
  uint64_t steps_per_launch = 1;
  bool allow_shared_gpu = false;

  // kInvalidArgument names the option.
  absl::Status Validate() const;
  // kInvalidArgument: what was asked for is not there on the CPU, which `device` came to mean.
  absl::Status CheckForCpu() const;
  // Which of them change nothing on the CPU, as a line; empty: none was given.
  std::string WithoutEffectOnCpu() const;
};

// `flags` must outlive `app`. Sets the group of the options that are added next.
void AddDeviceOptions(CLI::App& app, DeviceFlags& flags);

// Why a launch will never have as many steps as asked for, and the --look-ahead that is needed;
// empty: it may.
std::string LaunchesLackSlots(uint64_t steps_per_launch, uint64_t look_ahead_bytes,
                              uint64_t slot_bytes);

// A --device.
struct DeviceChoice {
  enum class Kind { kAuto, kCpu, kCuda } kind = Kind::kAuto;
  std::optional<size_t> gpu = std::nullopt;  // Of "cuda:N".
};

// kInvalidArgument: none of auto, cpu, cuda and cuda:N.
absl::StatusOr<DeviceChoice> ParseDevice(absl::string_view device);

// Which of `gpus` GPUs the rank `local_rank` of its host takes: the one named, the only one that
// its launcher lets it see, else its own number; with `allow_shared` ranks begin again at the
// first. kInvalidArgument: there is no such GPU. That two ranks have the same is found when they
// connect.
absl::StatusOr<size_t> ChooseGpu(const DeviceChoice& choice, size_t local_rank, size_t gpus,
                                 bool allow_shared);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_DEVICE_OPTIONS_H_
