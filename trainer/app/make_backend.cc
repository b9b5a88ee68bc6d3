#include "trainer/app/make_backend.h"

#include "records/base/status.h"
#include "trainer/backend/cpu/cpu_backend.h"

namespace penstock {
namespace {

absl::StatusOr<std::unique_ptr<Backend>> MakeCpuBackend(const TrainerOptions& options,
                                                        const BoardModelConfig& model,
                                                        Communicator& ranks) {
  CpuBackendOptions cpu{.threads = options.threads,
                        .processes = options.rank.local_size,
                        .shards = options.virtual_shards,
                        .ranks = &ranks,
                        .fast_reduction = options.ranks.fast(),
                        .wire = options.ranks.wire()};
  PENSTOCK_ASSIGN_OR_RETURN(cpu.gemm, ParseGemmEngine(options.gemm, options.precision));
  return CpuBackend::Create(model, cpu);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const TrainerOptions& options,
                                                     const BoardModelConfig& model,
                                                     Communicator& ranks) {
  if (options.device == "cuda") {
    return absl::FailedPreconditionError(
        "--device cuda: this build has no CUDA; use --device cpu or auto");
  }
  return MakeCpuBackend(options, model, ranks);
}

}  // namespace penstock
