// A training on disk: everything needed to go on bit for bit.
//
// Little-endian, in this order:
//   8 bytes   "PSTRAIN\n"
//   uint32    version, 1
//   uint32    bytes of the JSON
//   uint64    bytes of the numbers
//   JSON      model, parameters (names and shapes), seed, step, cursor, ...
//   float32   parameters, then m, then v: each parameter after the other, row-major, no gaps
//   uint32    CRC-32C of everything before
#ifndef PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_
#define PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/train_state.h"
#include "trainer/model/board_model.h"
#include "trainer/model/parameter_table.h"

namespace penstock {

struct CheckpointInfo {
  BoardModelConfig model = {};
  uint64_t seed = 0;
  uint64_t step = 0;        // Updates applied.
  std::string cursor = {};  // After the last applied step's batch.
  uint64_t global_batch_size = 0;
  // What the bits of the next step depend on besides the state.
  uint64_t virtual_shards = 0;
  uint64_t block_rows = 0;
  std::string numerics = {};  // "cpu onednn avx512"
  // Scores of every row trained on: for the mean that evaluation compares with.
  double score_sum = 0;
  uint64_t score_count = 0;
  std::string version = {};  // Of the program that wrote it.

  friend bool operator==(const CheckpointInfo&, const CheckpointInfo&) = default;
};

struct Checkpoint {
  CheckpointInfo info;
  TrainState state;
};

// Replaces `path` as a whole: after a full disk or a crash the old file is still there.
// kResourceExhausted: the disk is full.
absl::Status SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                            const ParameterTable& table, const TrainState& state);

// kNotFound; kInvalidArgument: not a checkpoint; kDataLoss: cut or damaged;
// kFailedPrecondition: from a newer version, or of another model than `model`, naming both.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path, const BoardModelConfig& model);

// The checkpoints of one training: "step-000001000.ckpt" in a folder. Not thread-safe.
class CheckpointFolder {
 public:
  // Makes the folder if it is not there. `keep` newest files stay, at least one.
  static absl::StatusOr<CheckpointFolder> Open(std::string folder, size_t keep);

  // Saves, then removes the oldest beyond `keep`.
  absl::Status Save(const CheckpointInfo& info, const ParameterTable& table,
                    const TrainState& state) const;

  // Oldest first; empty if there is none.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  CheckpointFolder(std::string folder, size_t keep) : folder_(std::move(folder)), keep_(keep) {}

  std::string folder_;
  size_t keep_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_
