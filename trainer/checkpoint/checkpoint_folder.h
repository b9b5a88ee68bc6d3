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

// The step of "DIR/step-000000012.ckpt"; nullopt: a name that CheckpointFolder gives no file.
std::optional<uint64_t> StepOfFile(const std::string& path);

// Every file is whole or not there. One at a time has the folder, over all processes: two trainings
// would remove each other's files, and resume from the other's. Not thread-safe.
class CheckpointFolder {
 public:
  // Makes the folder if it is not there, and tries to write in it: a training must not fail at its
  // first checkpoint. `keep` newest files stay, at least one, and the best.
  // kFailedPrecondition: another has the folder. kPermissionDenied: nothing can be written there.
  static absl::StatusOr<CheckpointFolder> Open(std::string folder, size_t keep);

  // Saves, then removes the oldest beyond `keep`. An error names the newest that is whole.
  absl::Status Save(const CheckpointInfo& info, const ParameterTable& table,
                    const TrainState& state) const;

  // Replaces best.ckpt, unless BetterThan(); saves as Save() first where nothing is saved yet: a
  // best alone would be that of a training that cannot go on.
  absl::Status SaveBest(const CheckpointInfo& info, const ParameterTable& table,
                        const TrainState& state) const;
  // The evaluation of best.ckpt, where it has a lower loss than the best of `info`, on the same
  // targets: that of a run that was cut off before its next checkpoint, or was given up.
  std::optional<BestEvaluation> BetterThan(const CheckpointInfo& info) const;
  std::string best_path() const;

  const std::string& folder() const { return folder_; }

  // Without the best; oldest first; empty if there is none. Files of other names, such as copies,
  // are the user's: neither listed nor removed.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  CheckpointFolder(std::string folder, size_t keep, UniqueFd lock)
      : folder_(std::move(folder)), keep_(keep), lock_(std::move(lock)) {}

  // All but `keep_` and the one that was just saved as `path`.
  absl::Status RemoveOlder(const std::string& path) const;
  // What best.ckpt holds, or why that cannot be read.
  const absl::StatusOr<CheckpointInfo>& Best() const;

  std::string folder_;
  size_t keep_;
  UniqueFd lock_;  // None where the file system has no locks.
  // Of best.ckpt, once it was asked for: to read that is to read all its weights.
  mutable std::optional<absl::StatusOr<CheckpointInfo>> best_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_
