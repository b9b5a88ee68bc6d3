#include "trainer/app/restore.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/flags/path_flags.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "trainer/checkpoint/same_bits.h"

namespace penstock {
namespace {

// Refuses a folder that holds only best.ckpt. It belongs to another training, or its user kept it;
// a new training would replace it.
absl::Status CheckNoBestAlone(const CheckpointFolder& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, folder.List());
  if (!paths.empty() || !std::filesystem::exists(folder.best_path())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      folder.best_path(),
      " would be replaced: the folder has no other checkpoint, so a new training would "
      "start; move the file, give another --checkpoint-dir, or give --resume ",
      folder.best_path()));
}

// Like LoadCheckpoint(), but a link without a file behind it counts as a damaged checkpoint.
absl::StatusOr<Checkpoint> LoadListed(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  const bool loop = error == std::errc::too_many_symbolic_link_levels;
  if (loop || found.type() == std::filesystem::file_type::not_found) {
    return absl::DataLossError(absl::StrCat(
        path, ": is a link ", loop ? "in a loop of links" : "to a file that does not exist",
        "; remove or correct it"));
  }
  return LoadCheckpoint(path);
}

// A diverged training may have left such weights.
absl::Status CheckFinite(const std::vector<float>& weights) {
  const auto finite = [](float weight) { return std::isfinite(weight); };
  const auto count = weights.size() - static_cast<size_t>(std::ranges::count_if(weights, finite));
  if (count == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Grouped(count), " of ", Grouped(weights.size()),
                   " weights are NaN or infinite, so its predictions mean nothing; give an earlier "
                   "checkpoint"));
}

absl::StatusOr<std::optional<FoundCheckpoint>> FindNewest(const CheckpointFolder& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, folder.List());
  if (paths.empty()) {
    PENSTOCK_RETURN_IF_ERROR(CheckNoBestAlone(folder));
    return std::nullopt;
  }
  absl::Status damaged;
  for (size_t i = paths.size(); i-- > 0;) {
    absl::StatusOr<Checkpoint> loaded = LoadListed(paths[i]);
    if (loaded.ok()) return FoundCheckpoint{paths[i], *std::move(loaded)};
    // kInvalidArgument: not a checkpoint at all, because its first bytes are damaged.
    if (!absl::IsDataLoss(loaded.status()) && !absl::IsInvalidArgument(loaded.status())) {
      return loaded.status();
    }
    if (damaged.ok()) damaged = loaded.status();
    PrintEscaped(stderr, "penstock-train: %s%s\n", loaded.status().message(),
                 i > 0 ? "; resuming from the previous checkpoint" : "");
  }
  return absl::Status(damaged.code(),
                      absl::StrCat("none of the ", paths.size(), " checkpoints in ",
                                   folder.folder(), " can be read: ", damaged.message(),
                                   "; to start a new training, give another --checkpoint-dir"));
}

// Refuses a folder that has a checkpoint later than `step`: files of two trainings in one folder
// could not be told apart.
absl::Status CheckNothingLater(const CheckpointFolder& folder, uint64_t step,
                               const std::string& what) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, folder.List());
  if (paths.empty() || StepOfFile(paths.back()) <= step) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--resume ", what, ", but ", paths.back(),
      " is later: the next --resume auto would continue from that file instead of this "
      "training; give another --checkpoint-dir, or move the later files away"));
}

}  // namespace

absl::StatusOr<std::optional<FoundCheckpoint>> FindCheckpoint(const std::string& resume,
                                                              const CheckpointFolder* folder) {
  if (resume == "never") {
    if (folder != nullptr) {
      PENSTOCK_RETURN_IF_ERROR(CheckNothingLater(*folder, 0, "never starts at step 0"));
      PENSTOCK_RETURN_IF_ERROR(CheckNoBestAlone(*folder));
    }
    return std::nullopt;
  }
  if (resume == "auto") {
    if (folder == nullptr) return std::nullopt;
    return FindNewest(*folder);
  }
  PENSTOCK_RETURN_IF_ERROR(
      CheckExists("--resume", resume, "give auto, never or the path of a checkpoint"));
  PENSTOCK_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(resume));
  if (folder != nullptr) {
    const uint64_t step = checkpoint.info.step;
    PENSTOCK_RETURN_IF_ERROR(
        CheckNothingLater(*folder, step, absl::StrCat(resume, " starts at step ", step)));
  }
  return FoundCheckpoint{resume, std::move(checkpoint)};
}

absl::StatusOr<Checkpoint> LoadNamedCheckpoint(const std::string& path) {
  PENSTOCK_RETURN_IF_ERROR(
      CheckExists("--checkpoint", path,
                  "give a checkpoint, such as best.ckpt of a training's --checkpoint-dir"));
  PENSTOCK_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(path));
  PENSTOCK_RETURN_IF_ERROR(Annotate(CheckFinite(checkpoint.state.parameters), path));
  return checkpoint;
}

bool KnowsGemmPlan(const CheckpointInfo& then, const BackendDescription& now) {
  return then.libraries == now.math_library && then.numerics == now.numerics;
}

std::string DescribeTargets(const MateScoreParams& params) {
  return absl::StrFormat("a %.15g, b %.15g, k %.15g", params.a, params.b, params.k);
}

void TellOfLaterBest(const CheckpointFolder& folder, const CheckpointInfo& now) {
  const std::optional<BestEvaluation> kept = folder.BetterThan(now);
  if (!kept.has_value()) return;
  PrintEscaped(stderr,
               "penstock-train: %s (step %d, loss %.6g) is better than every evaluation up to step "
               "%d: it is kept until an evaluation is at least as good\n",
               folder.best_path(), kept->step, kept->loss, now.step);
}

void ForgetOtherTargets(const CheckpointInfo& then, CheckpointInfo& now) {
  if (then.targets.empty() || then.targets == now.targets) return;
  now.score_sum = 0;
  now.score_count = 0;
  now.judged_step = 0;
  if (!now.best.has_value()) return;
  now.best.reset();
  PrintEscaped(stderr,
               "penstock-train: the targets differ from the checkpoint's: its best evaluation "
               "(step %d) does not count, and the next evaluation replaces best.ckpt\n",
               then.best->step);
}

// An old checkpoint has no plan.
absl::Status AdoptOrChooseGemmPlan(const CheckpointInfo& then, Backend& backend) {
  if (KnowsGemmPlan(then, backend.Describe()) && backend.AdoptGemmPlan(then.gemm_plan).ok()) {
    return absl::OkStatus();
  }
  return backend.ChooseGemmPlan();
}

absl::Status AboutCheckpoint(const absl::Status& failed, const std::string& path) {
  if (!absl::IsFailedPrecondition(failed) && !absl::IsInvalidArgument(failed)) return failed;
  return {failed.code(),
          absl::StrCat("resuming from ", path.empty() ? "rank 0's checkpoint" : path, ": ",
                       failed.message(),
                       "; if another training made this checkpoint, give that training's data and "
                       "options, or another --checkpoint-dir")};
}

absl::Status CheckSameBits(const CheckpointInfo& then, const CheckpointInfo& now, bool required) {
  const std::vector<std::string> differences = BitDifferences(then, now);
  if (required && !differences.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--require-same-bits: ", absl::StrJoin(differences, "; ")));
  }
  for (const std::string& difference : differences) {
    PrintEscaped(stderr, "penstock-train: %s: results may not be bit-identical\n", difference);
  }
  return absl::OkStatus();
}

}  // namespace penstock
