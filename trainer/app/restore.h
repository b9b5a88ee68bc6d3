// Where a training begins: at a checkpoint, with given weights, or with those of its seed.
#ifndef PENSTOCK_TRAINER_APP_RESTORE_H_
#define PENSTOCK_TRAINER_APP_RESTORE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/decode/score.h"
#include "trainer/backend/backend.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_folder.h"

namespace penstock {

// A checkpoint and the file it is from.
struct FoundCheckpoint {
  std::string path;
  Checkpoint checkpoint;
};

// What --resume says: "never"; "auto", the newest in `folder` (may be null) that is whole, where
// those that are not are named on stderr; or a file. nullopt: there is nothing to go on from.
// kDataLoss or kInvalidArgument: there are checkpoints in the folder, and none can be read.
// kFailedPrecondition: `folder` has later steps than the file, or any where nothing is resumed,
// which a later "auto" would take; or it has the best of a training and nothing else.
absl::StatusOr<std::optional<FoundCheckpoint>> FindCheckpoint(const std::string& resume,
                                                              const CheckpointFolder* folder);

// Whether `then`'s algorithms of matrix products mean anything to who describes itself as `now`:
// they are one library's own, in one version.
bool KnowsGemmPlan(const CheckpointInfo& then, const BackendDescription& now);

// "a 0.8, b 11, k 400"
std::string DescribeTargets(const MateScoreParams& params);

// Where the targets are not those of `then`: drops from `now` what was measured on those, the best
// evaluation and the mean score, and says so on stderr.
void ForgetOtherTargets(const CheckpointInfo& then, CheckpointInfo& now);

// Says on stderr that best.ckpt stays, where it is of a later step that was not resumed from.
void TellOfLaterBest(const CheckpointFolder& folder, const CheckpointInfo& now);

// Has `backend` multiply as `then` did where it can; where it cannot, CheckSameBits() says so.
void AdoptGemmPlan(const CheckpointInfo& then, Backend& backend);

// Why the data does not go on from the cursor of a checkpoint: `failed`, with the file (empty:
// rank 0 has it) and what to do.
absl::Status AboutCheckpoint(const absl::Status& failed, const std::string& path);

// Names on stderr why the bits of `now` will not be those of `then`.
// kFailedPrecondition: they will not, and `required` says they must.
absl::Status CheckSameBits(const CheckpointInfo& then, const CheckpointInfo& now, bool required);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RESTORE_H_
