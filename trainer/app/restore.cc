#include "trainer/app/restore.h"

#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "records/base/status.h"
#include "trainer/checkpoint/same_bits.h"

namespace penstock {
namespace {

// "DIR/step-000000012.ckpt" is 12; another name 0.
uint64_t StepOfName(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  uint64_t step = 0;
  return absl::SimpleAtoi(absl::StripPrefix(stem, "step-"), &step) ? step : 0;
}

absl::StatusOr<std::optional<FoundCheckpoint>> FindNewest(const CheckpointFolder& folder,
                                                          const BoardModelConfig& model) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, folder.List());
  if (paths.empty()) return std::nullopt;
  absl::Status damaged;
  for (size_t i = paths.size(); i-- > 0;) {
    absl::StatusOr<Checkpoint> loaded = LoadCheckpoint(paths[i], model);
    if (loaded.ok()) return FoundCheckpoint{paths[i], *std::move(loaded)};
    // Not a checkpoint at all: its first bytes are damaged.
    if (!absl::IsDataLoss(loaded.status()) && !absl::IsInvalidArgument(loaded.status())) {
      return loaded.status();
    }
    if (damaged.ok()) damaged = loaded.status();
    absl::FPrintF(stderr, "penstock-train: %s%s\n", loaded.status().message(),
                  i > 0 ? "; going on from the one before" : "");
  }
  return Annotate(damaged,
                  absl::StrCat("none of the ", paths.size(), " checkpoints in ", folder.folder(),
                               " can be read; --resume never begins anew"));
}

// What two trainings from one file left in one folder could not be told apart.
absl::Status CheckNothingLater(const CheckpointFolder& folder, const std::string& resume,
                               uint64_t step) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, folder.List());
  if (paths.empty() || StepOfName(paths.back()) <= step) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--resume ", resume, " is of step ", step, ", but ", paths.back(),
      " is later: a next start with --resume auto would go on from that, and not from what is "
      "trained now; give a new --checkpoint-dir, or move the later files out of this one"));
}

}  // namespace

absl::StatusOr<std::optional<FoundCheckpoint>> FindCheckpoint(const std::string& resume,
                                                              const CheckpointFolder* folder,
                                                              const BoardModelConfig& model) {
  if (resume == "never") return std::nullopt;
  if (resume == "auto") {
    if (folder == nullptr) return std::nullopt;
    return FindNewest(*folder, model);
  }
  PENSTOCK_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(resume, model));
  if (folder != nullptr) {
    PENSTOCK_RETURN_IF_ERROR(CheckNothingLater(*folder, resume, checkpoint.info.step));
  }
  return FoundCheckpoint{resume, std::move(checkpoint)};
}

bool KnowsGemmPlan(const CheckpointInfo& then, const BackendDescription& now) {
  return then.libraries == now.math_library && then.numerics == now.numerics;
}

void AdoptGemmPlan(const CheckpointInfo& then, Backend& backend) {
  if (KnowsGemmPlan(then, backend.Describe())) (void)backend.AdoptGemmPlan(then.gemm_plan);
}

absl::Status CheckSameBits(const CheckpointInfo& then, const CheckpointInfo& now, bool required) {
  const std::vector<std::string> differences = BitDifferences(then, now);
  if (required && !differences.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--require-same-bits: ", absl::StrJoin(differences, "; ")));
  }
  for (const std::string& difference : differences) {
    absl::FPrintF(stderr, "penstock-train: %s: the bits may differ\n", difference);
  }
  return absl::OkStatus();
}

}  // namespace penstock
