#include "trainer/app/device_options.h"

#include <algorithm>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr uint64_t kMostStepsPerLaunch = 100;  // Each step of a launch takes a slot for its batch.
constexpr uint64_t kMiB = uint64_t{1} << 20;

}  // namespace

void AddDeviceOptions(CLI::App& app, DeviceFlags& flags) {
  app.option_defaults()->group("Devices");
  app.add_option(
         "--device", flags.device,
         "Device to train on: cpu, cuda (a GPU for each rank of a host), cuda:N, or auto (a "
         "GPU if there is one)")
      ->check([](const std::string& device) {
        return std::string(ParseDevice(device).status().message());
      })
      ->type_name("DEVICE");
  app.add_option("--gpu-memory-fraction", flags.gpu_memory_fraction,
                 "Share of a GPU's memory that may be taken");
  app.add_flag("--allow-shared-gpu", flags.allow_shared_gpu,
               "Let several ranks train on one GPU, through the host's memory");
  app.option_defaults()->group("Tuning");
  app.add_option("--steps-per-launch", flags.steps_per_launch,
                 "Steps to give a GPU at a time, for small models; the bits are the same");
  app.add_flag("--no-graph", flags.no_graph,
               "Queue each operation of a step on the GPU by itself; the bits are the same");
}

absl::Status DeviceFlags::Validate() const {
  if (!(gpu_memory_fraction > 0 && gpu_memory_fraction <= 1)) {
    return absl::InvalidArgumentError("--gpu-memory-fraction must be above 0, and at most 1");
  }
  if (steps_per_launch < 1 || steps_per_launch > kMostStepsPerLaunch) {
    return absl::InvalidArgumentError(absl::StrCat("--steps-per-launch ", steps_per_launch,
                                                   " is out of range; give 1 to ",
                                                   kMostStepsPerLaunch));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const DeviceChoice choice, ParseDevice(device));
  return choice.kind == DeviceChoice::Kind::kCpu ? CheckForCpu() : absl::OkStatus();
}

absl::Status DeviceFlags::CheckForCpu() const {
  if (steps_per_launch <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--steps-per-launch ", steps_per_launch,
                   " needs a GPU, but this training runs on the CPU (--device ", device,
                   "); leave it out, or give --device cuda"));
}

std::string DeviceFlags::WithoutEffectOnCpu() const {
  std::vector<absl::string_view> given;
  if (gpu_memory_fraction != DeviceFlags().gpu_memory_fraction) {
    given.push_back("--gpu-memory-fraction");
  }
  if (no_graph) given.push_back("--no-graph");
  if (allow_shared_gpu) given.push_back("--allow-shared-gpu");
  if (given.empty()) return "";
  return absl::StrCat(absl::StrJoin(given, ", "), given.size() == 1 ? " has" : " have",
                      " no effect, because this training runs on the CPU");
}

std::string LaunchesLackSlots(uint64_t steps_per_launch, uint64_t look_ahead_bytes,
                              uint64_t slot_bytes) {
  if (steps_per_launch <= 1 || look_ahead_bytes / slot_bytes > steps_per_launch) return "";
  const uint64_t needed = ((2 * steps_per_launch + 1) * slot_bytes + kMiB - 1) / kMiB;
  return absl::StrCat("--steps-per-launch ", steps_per_launch, " has no effect: it needs ",
                      2 * steps_per_launch + 1, " batches in memory, and --look-ahead holds ",
                      std::max<uint64_t>(2, look_ahead_bytes / slot_bytes), " batches of ",
                      slot_bytes, " bytes; give --look-ahead ", needed, "MiB");
}

absl::StatusOr<DeviceChoice> ParseDevice(absl::string_view device) {
  using Kind = DeviceChoice::Kind;
  if (device == "auto") return DeviceChoice{Kind::kAuto};
  if (device == "cpu") return DeviceChoice{Kind::kCpu};
  if (device == "cuda") return DeviceChoice{Kind::kCuda};
  absl::string_view number = device;
  uint32_t gpu = 0;
  if (absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &gpu)) {
    return DeviceChoice{Kind::kCuda, gpu};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--device ", device, " is not a device; give auto, cpu, cuda or cuda:N"));
}

absl::StatusOr<size_t> ChooseGpu(const DeviceChoice& choice, size_t local_rank, size_t gpus,
                                 bool allow_shared) {
  if (choice.gpu.has_value() && *choice.gpu >= gpus) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no GPU ", *choice.gpu, ": this process sees ", gpus, " GPUs, counted from 0"));
  }
  if (choice.gpu.has_value()) return *choice.gpu;
  if (local_rank < gpus) return local_rank;
  if (allow_shared || gpus == 1) return local_rank % gpus;
  return absl::InvalidArgumentError(absl::StrCat(
      "local rank ", local_rank, " has no GPU of its own: this process sees ", gpus,
      " GPUs; start at most ", gpus, " ranks on this host, or pass --allow-shared-gpu"));
}

}  // namespace penstock
