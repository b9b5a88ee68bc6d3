// A training on disk: everything that is needed to continue it bit for bit.
//
// Little-endian, in this order:
//   8 bytes   "PSTRAIN\n"
//   uint32    version: 5 for image models with other pixel statistics than ImageNet's, 4 for other
//             image models and models with dropout, 3 with an attention bias, 2 for the rest
//   uint32    bytes of the JSON
//   uint64    bytes of the numbers
//   JSON      model, parameters (names and shapes), seed, step, cursor, ...
//   float32   parameters, then m, then v: parameter by parameter, row-major, no gaps
//   uint32    CRC-32C of everything before
// docs/reference/checkpoint_format.md lists the fields of the JSON. Files of version 1 lack some
// fields, which then have the defaults of CheckpointInfo.
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

// The evaluation with the lowest holdout loss so far.
struct BestEvaluation {
  uint64_t step = 0;
  double loss = 0;
  // Number of later evaluations, none of which was better; --early-stop counts them.
  uint64_t evaluations_since = 0;

  friend bool operator==(const BestEvaluation&, const BestEvaluation&) = default;
};

// The most bytes of class names that a checkpoint can hold, before escaping.
inline constexpr size_t kMostNameBytes = 2 << 20;

struct CheckpointInfo {
  ModelConfig model = {};
  // Names of the model's classes, by class number; at most kMostNameBytes in all. Bytes that are
  // not UTF-8 are replaced in the file. Empty if no names were known.
  std::vector<std::string> class_names = {};
  // The decode spec of the evaluations, as a textproto; image models only.
  std::string eval_spec = {};
  uint64_t seed = 0;
  uint64_t step = 0;        // Number of applied updates.
  std::string cursor = {};  // Position after the batch of the last applied step.
  uint64_t global_batch_size = 0;
  // The next members are everything besides the state that the bits of the next step depend on.
  uint64_t virtual_shards = 0;
  uint64_t block_rows = 0;
  std::string targets = {};                 // How scores become targets: "a 0.8, b 11, k 400".
  std::string numerics = {};                // "cpu onednn avx512"
  std::string reduction = "deterministic";  // "deterministic" or "fast".
  std::string compression = "none";
  uint64_t accumulate = 1;         // Number of batches per step.
  std::string remainder = "drop";  // Determines which rows an epoch's last step has.
  std::string precision = "fp32";
  std::string gemm_plan = {};  // How products are computed: an engine, or the chosen algorithms.
  std::string libraries = {};  // "oneDNN 2.6.0"
  uint64_t world_size = 1;     // Affects the bits unless the reduction is deterministic.
  // Sum and number of the scores trained on, for the mean that evaluations compare with.
  double score_sum = 0;
  uint64_t score_count = 0;
  std::string version = {};  // Version of the program that wrote the checkpoint.
  std::optional<BestEvaluation> best = {};
  uint64_t judged_step = 0;  // Step of the newest evaluation that `best` accounts for; 0 if none.

  friend bool operator==(const CheckpointInfo&, const CheckpointInfo&) = default;
};

struct Checkpoint {
  CheckpointInfo info;
  TrainState state;
};

// Replaces `path` atomically: after a full disk or a crash the old file is still there.
// kResourceExhausted: the disk is full.
absl::Status SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                            const ParameterTable& table, const TrainState& state);

// kFailedPrecondition: `found` differs from `wanted` in more than dropout; the message names both.
absl::Status CheckModel(const ModelConfig& found, const ModelConfig& wanted);

// kNotFound: no such file. kInvalidArgument: not a checkpoint. kDataLoss: truncated or damaged.
// kFailedPrecondition: from a newer version, or of another model than `model`; the message names
// both.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path, const ModelConfig& model);

// Loads a checkpoint of any model.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_CHECKPOINT_H_
