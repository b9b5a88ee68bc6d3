// Determines where a training starts: at a checkpoint, with given weights, or with those of its
// seed.
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

// A checkpoint and its file.
struct FoundCheckpoint {
  std::string path;
  Checkpoint checkpoint;
};

// Finds the checkpoint that --resume names: "never"; "auto", the newest intact one in `folder` (may
// be null), naming damaged ones on stderr; or a file. nullopt: there is nothing to resume.
// kDataLoss or kInvalidArgument: the folder has checkpoints, but none can be read.
// kFailedPrecondition: `folder` has later steps than the file, or has any steps while nothing is
// resumed (a later "auto" would take them); or it has only the best checkpoint of a training.
absl::StatusOr<std::optional<FoundCheckpoint>> FindCheckpoint(const std::string& resume,
                                                              const CheckpointFolder* folder);

// Loads the file that --checkpoint names. kNotFound: there is no such file; the message names the
// option. Other errors are those of LoadCheckpoint().
absl::StatusOr<Checkpoint> LoadNamedCheckpoint(const std::string& path);

// Whether the algorithms for matrix products in `then` mean anything to a backend that describes
// itself as `now`. They are specific to one version of one library.
bool KnowsGemmPlan(const CheckpointInfo& then, const BackendDescription& now);

// "a 0.8, b 11, k 400"
std::string DescribeTargets(const MateScoreParams& params);

// If the targets differ from those of `then`, drops from `now` what was measured with the other
// targets (the best evaluation and the mean score), and says so on stderr.
void ForgetOtherTargets(const CheckpointInfo& then, CheckpointInfo& now);

// If best.ckpt is better than the evaluations of the checkpoint that the training resumes from,
// says on stderr that best.ckpt stays.
void TellOfLaterBest(const CheckpointFolder& folder, const CheckpointInfo& now);

// Makes `backend` use the matrix-product algorithms of `then` if it can. If not, the backend
// chooses anew, and CheckSameBits() says that the algorithms differ.
absl::Status AdoptOrChooseGemmPlan(const CheckpointInfo& then, Backend& backend);

// Explains why the data cannot continue from a checkpoint's cursor. Adds to `failed` the
// checkpoint's `path` (empty on a rank without the file, which rank 0 has) and what to do.
absl::Status AboutCheckpoint(const absl::Status& failed, const std::string& path);

// Prints on stderr the reasons why the bits of `now` will differ from those of `then`.
// kFailedPrecondition: they will differ, and `required` is set.
absl::Status CheckSameBits(const CheckpointInfo& then, const CheckpointInfo& now, bool required);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RESTORE_H_
