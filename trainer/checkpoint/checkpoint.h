// A training on disk: everything needed to go on bit for bit.
//
// Little-endian, in this order:
//   8 bytes   "PSTRAIN\n"
//   uint32    version: 5 of models of images with other pixel statistics than ImageNet's, 4 of
//             others of images or with dropout, 3 with an attention bias, 2 of others
//   uint32    bytes of the JSON
//   uint64    bytes of the numbers
//   JSON      model, parameters (names and shapes), seed, step, cursor, ...
//   float32   parameters, then m, then v: each parameter after the other, row-major, no gaps
//   uint32    CRC-32C of everything before
// docs/reference/checkpoint_format.md has the fields of the JSON. Files of version 1 lack some of
// them, which then have the defaults of CheckpointInfo.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_
#define PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/train_state.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace penstock {

// The lowest held-out loss so far.
struct BestEvaluation {
  uint64_t step = 0;
  double loss = 0;
  uint64_t evaluations_since = 0;  // That were no better: what --early-stop counts.

  friend bool operator==(const BestEvaluation&, const BestEvaluation&) = default;
};

// Names of classes that a checkpoint can hold, all together, however they are escaped.
inline constexpr size_t kMostNameBytes = 2 << 20;

struct CheckpointInfo {
  ModelConfig model = {};
  // Of the model's classes, by number, in kMostNameBytes at most; bytes that are no UTF-8 are
  // replaced in the file. Empty: none were known.
  std::vector<std::string> class_names = {};
  // The decode spec that evaluations are read with, as a textproto; models of images only.
  std::string eval_spec = {};
  uint64_t seed = 0;
  uint64_t step = 0;        // Updates applied.
  std::string cursor = {};  // After the last applied step's batch.
  uint64_t global_batch_size = 0;
  // What the bits of the next step depend on besides the state.
  uint64_t virtual_shards = 0;
  uint64_t block_rows = 0;
  std::string targets = {};   // How scores become what is predicted: "a 0.8, b 11, k 400".
  std::string numerics = {};  // "cpu onednn avx512"
  std::string reduction = "deterministic";  // Or "fast".
  std::string compression = "none";
  uint64_t accumulate = 1;         // Batches of a step.
  std::string remainder = "drop";  // Of an epoch: which rows its last step has.
  std::string precision = "fp32";
  std::string gemm_plan = {};  // How products are computed: an engine, or chosen algorithms.
  std::string libraries = {};  // "oneDNN 2.6.0"
  uint64_t world_size = 1;     // Part of the bits unless the reduction is deterministic.
  // Scores of every row trained on: for the mean that evaluation compares with.
  double score_sum = 0;
  uint64_t score_count = 0;
  std::string version = {};  // Of the program that wrote it.
  std::optional<BestEvaluation> best = {};
  uint64_t judged_step = 0;  // Of the newest evaluation that `best` knows of; 0: none.

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

// kFailedPrecondition: `found` is not `wanted`, naming both; the dropout may differ.
absl::Status CheckModel(const ModelConfig& found, const ModelConfig& wanted);

// kNotFound; kInvalidArgument: not a checkpoint; kDataLoss: cut or damaged;
// kFailedPrecondition: from a newer version, or of another model than `model`, naming both.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path, const ModelConfig& model);

// Of whatever model it is.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_
