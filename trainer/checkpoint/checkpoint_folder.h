// The checkpoints of one training: "step-000001000.ckpt" and "best.ckpt" in a folder.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

// The step of "DIR/step-000000012.ckpt"; nullopt if CheckpointFolder gives no file this name.
std::optional<uint64_t> StepOfFile(const std::string& path);

// Every file is complete or absent. Only one object over all processes may hold the folder: two
// trainings would remove each other's files, and resume from each other's. Not thread-safe.
class CheckpointFolder {
 public:
  // Creates the folder if it is missing, and tries to write in it, because a training must not fail
  // at its first checkpoint. The `keep` newest files (at least one) and the best are kept.
  // kFailedPrecondition: another training holds the folder. kPermissionDenied: it cannot be
  // written.
  static absl::StatusOr<CheckpointFolder> Open(std::string folder, size_t keep);

  // Saves, then removes the oldest files beyond `keep`. Errors name the newest intact checkpoint.
  absl::Status Save(const CheckpointInfo& info, const ParameterTable& table,
                    const TrainState& state) const;

  // Replaces best.ckpt, unless BetterThan() has a value. If nothing is saved yet, calls Save()
  // first, because a training with only a best checkpoint could not be resumed.
  absl::Status SaveBest(const CheckpointInfo& info, const ParameterTable& table,
                        const TrainState& state) const;
  // The evaluation of best.ckpt, if its loss is lower than that of the best of `info`, for the same
  // model and targets. It is then from a run that ended before its next checkpoint, or was
  // abandoned.
  std::optional<BestEvaluation> BetterThan(const CheckpointInfo& info) const;
  std::string best_path() const;

  const std::string& folder() const { return folder_; }

  // Checkpoints without the best, oldest first; empty if there are none. Files with other names,
  // such as copies, belong to the user: they are neither listed nor removed.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  CheckpointFolder(std::string folder, size_t keep, UniqueFd lock)
      : folder_(std::move(folder)), keep_(keep), lock_(std::move(lock)) {}

  // Removes all but `keep_` files and the file `path`, which was just saved.
  absl::Status RemoveOlder(const std::string& path) const;
  // The information in best.ckpt, or why it cannot be read.
  const absl::StatusOr<CheckpointInfo>& Best() const;

  std::string folder_;
  size_t keep_;
  UniqueFd lock_;  // Invalid if the file system has no locks.
  // Cached content of best.ckpt, because reading it means reading all its weights.
  mutable std::optional<absl::StatusOr<CheckpointInfo>> best_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_
