// The checkpoints of one training: "step-000001000.ckpt" and "best.ckpt" in a folder.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/checkpoint.h"

namespace penstock {

// Every file is whole or not there. Not thread-safe.
class CheckpointFolder {
 public:
  // Makes the folder if it is not there, and tries to write in it: a training must not fail at its
  // first checkpoint. `keep` newest files stay, at least one, and the best.
  static absl::StatusOr<CheckpointFolder> Open(std::string folder, size_t keep);

  // Saves, then removes the oldest beyond `keep`. An error names the newest that is whole.
  absl::Status Save(const CheckpointInfo& info, const ParameterTable& table,
                    const TrainState& state) const;

  // Replaces best.ckpt.
  absl::Status SaveBest(const CheckpointInfo& info, const ParameterTable& table,
                        const TrainState& state) const;
  std::string best_path() const;

  const std::string& folder() const { return folder_; }

  // Without the best; oldest first; empty if there is none.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  CheckpointFolder(std::string folder, size_t keep) : folder_(std::move(folder)), keep_(keep) {}

  std::string folder_;
  size_t keep_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_FOLDER_H_
