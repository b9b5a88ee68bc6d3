// Where a training begins: at a checkpoint, with given weights, or with those of its seed.
#ifndef PENSTOCK_TRAINER_APP_RESTORE_H_
#define PENSTOCK_TRAINER_APP_RESTORE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
// kFailedPrecondition: `folder` has later steps than the file, which a later "auto" would take.
absl::StatusOr<std::optional<FoundCheckpoint>> FindCheckpoint(const std::string& resume,
                                                              const CheckpointFolder* folder,
                                                              const BoardModelConfig& model);

// Whether `then`'s algorithms of matrix products mean anything to who describes itself as `now`:
// they are one library's own, in one version.
bool KnowsGemmPlan(const CheckpointInfo& then, const BackendDescription& now);

// Has `backend` multiply as `then` did where it can; where it cannot, CheckSameBits() says so.
void AdoptGemmPlan(const CheckpointInfo& then, Backend& backend);

// Names on stderr why the bits of `now` will not be those of `then`.
// kFailedPrecondition: they will not, and `required` says they must.
absl::Status CheckSameBits(const CheckpointInfo& then, const CheckpointInfo& now, bool required);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RESTORE_H_
