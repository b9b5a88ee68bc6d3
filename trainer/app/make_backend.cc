#include "trainer/app/make_backend.h"

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/process/end_process.h"
#include "base/status.h"
#include "trainer/app/rank_agreement.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/device/device_backend.h"
#include "trainer/backend/device/patient_device.h"
#include "trainer/cuda/cuda_device.h"
#include "trainer/cuda/gpu_ranks.h"

namespace penstock {
namespace {

absl::StatusOr<std::unique_ptr<Backend>> MakeCpuBackend(const TrainerOptions& options,
                                                        const ModelConfig& model,
                                                        Communicator& ranks) {
  PENSTOCK_RETURN_IF_ERROR(options.device.CheckForCpu());
  const std::string no_effect = options.device.WithoutEffectOnCpu();
  if (!no_effect.empty() && options.rank.rank == 0) {
    PrintEscaped(stderr, "penstock-train: %s\n", no_effect);
  }
  CpuBackendOptions cpu{.threads = options.threads,
                        .processes = options.rank.local_size,
                        .shards = options.virtual_shards,
                        .ranks = &ranks,
                        .fast_reduction = options.ranks.fast(),
                        .wire = options.ranks.wire(),
                        .bucket_floats = options.ranks.bucket_floats()};
  PENSTOCK_ASSIGN_OR_RETURN(cpu.gemm, ParseGemmEngine(options.gemm, options.precision));
  return CpuBackend::Create(model, cpu);
}

// Opens this rank's GPU, counted among those that the process sees.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const TrainerOptions& options,
                                                   const DeviceChoice& choice) {
  PENSTOCK_ASSIGN_OR_RETURN(const size_t gpus, CountGpus());
  PENSTOCK_ASSIGN_OR_RETURN(const size_t gpu, ChooseGpu(choice, options.rank.local_rank, gpus,
                                                        options.device.allow_shared_gpu));
  return OpenGpu(gpu, /*traced=*/!options.profile.steps.empty());
}

// Returns null for the CPU.
absl::StatusOr<std::unique_ptr<Device>> FindDevice(const TrainerOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const DeviceChoice choice, ParseDevice(options.device.device));
  const bool is_auto = choice.kind == DeviceChoice::Kind::kAuto;
  if (choice.kind == DeviceChoice::Kind::kCpu || (is_auto && !CountGpus().ok())) return nullptr;
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(options, choice);
  if (device.ok()) return device;
  if (!is_auto) {
    return Annotate(device.status(), absl::StrCat("--device ", options.device.device));
  }
  PrintEscaped(stderr, "penstock-train: %sthe GPU cannot be used, so this trains on the CPU: %s\n",
               RankMark(options.rank), device.status().message());
  return nullptr;
}

DeviceBackendOptions CudaOptions(const TrainerOptions& options, const ModelConfig& model,
                                 const Device& device, Communicator& ranks) {
  DeviceBackendOptions cuda{.shards = options.virtual_shards,
                            .global_rows = options.global_batch_size,
                            .format = FormatOf(options, model),
                            .bf16 = options.precision == "bf16",
                            .graphs = !options.device.no_graph,
                            .steps_per_launch = options.device.steps_per_launch,
                            .memory_fraction = options.device.gpu_memory_fraction,
                            .ranks = &ranks,
                            .fast_reduction = options.ranks.fast(),
                            .wire = options.ranks.wire(),
                            .bucket_floats = options.ranks.bucket_floats()};
  if (options.rank.rank == 0) {
    cuda.on_memory = [name = device.info().name](const std::vector<MemoryUse>& uses) {
      PrintEscaped(stdout, "%s", Multiline(MemoryTable(absl::StrCat("memory of ", name), uses)));
      std::fflush(stdout);
    };
  }
  return cuda;
}

Communicator& HostRanks(RankGroup& ranks, GatedCommunicator* gate) {
  if (gate != nullptr) return *gate;
  return ranks.communicator();
}

absl::StatusOr<std::unique_ptr<Backend>> MakeDeviceBackend(
    const TrainerOptions& options, const ModelConfig& model, RankGroup& ranks,
    GatedCommunicator* gate, const LateReport& late, std::unique_ptr<Device> device) {
  const WaitOptions waits = ToGroupOptions(options.ranks, late).tcp;
  // Ends the process if a GPU hangs, no matter what waits for it. Until then other ranks can still
  // hear the reason.
  auto end_soon = [mark = RankMark(options.rank)](const absl::Status& why) {
    EndProcessWithin(absl::Seconds(15), absl::StrCat("penstock-train: ", mark, why.message()));
  };
  DeviceOptions connect{.allow_shared_gpu = options.device.allow_shared_gpu,
                        .graphs = !options.device.no_graph,
                        .waits = waits,
                        .nccl = {.on_stuck = end_soon}};
  if (options.rank.rank == 0) {
    connect.nccl.on_blocking = [](absl::string_view line) {
      PrintEscaped(stderr, "penstock-train: %s\n", line);
    };
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> gradient_ranks,
                            ConnectGpus(ranks, *device, std::move(connect)));
  if (gate != nullptr && gradient_ranks != nullptr) {
    gradient_ranks = std::make_unique<GatedCommunicator>(std::move(gradient_ranks), gate->last());
  }
  const DeviceBackendOptions cuda = CudaOptions(options, model, *device, HostRanks(ranks, gate));
  return DeviceBackend::Create(
      model, cuda, std::make_unique<PatientDevice>(std::move(device), waits, std::move(end_soon)),
      std::move(gradient_ranks));
}

}  // namespace

InputFormat FormatOf(const TrainerOptions& options, const ModelConfig& model) {
  if (model.is_image()) return ImagesOf(model.side);
  if (options.BoardDtype() == "packed") return kPackedBoards;
  return options.BoardDtype() == "i8" ? kI8Boards : kF32Boards;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const TrainerOptions& options,
                                                     const ModelConfig& model, RankGroup& ranks,
                                                     GatedCommunicator* gate,
                                                     const LateReport& late) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, FindDevice(options));
  // Must come before ranks with a GPU wait for the GPU of every rank.
  PENSTOCK_RETURN_IF_ERROR(
      CompareSettings(ranks.communicator(), {{"the device", device ? "a GPU" : "the CPU"}}));
  if (device == nullptr) return MakeCpuBackend(options, model, HostRanks(ranks, gate));
  return MakeDeviceBackend(options, model, ranks, gate, late, std::move(device));
}

}  // namespace penstock
