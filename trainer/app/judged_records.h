// A checkpoint's model, and records for it.
#ifndef PENSTOCK_TRAINER_APP_JUDGED_RECORDS_H_
#define PENSTOCK_TRAINER_APP_JUDGED_RECORDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/manifest.h"
#include "trainer/app/records_options.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/input/batch_reader.h"
#include "trainer/input/input.h"

namespace penstock {

// With the weights of `loaded`, which it takes. The virtual shards, the rows of a block and the
// precision are those of the training, so that the bits are its evaluations' on the same machine.
absl::StatusOr<std::unique_ptr<CpuBackend>> RestoreBackend(Checkpoint& loaded, uint64_t threads);

// Not thread-safe.
struct JudgedRecords {
  CheckpointInfo info;
  std::shared_ptr<const Manifest> manifest;  // Shared with the input.
  std::unique_ptr<CpuBackend> backend;
  std::unique_ptr<BatchReader> reader;
  // Batches as large as those of the training, each record once, in file order.
  std::unique_ptr<Input> input;

  // The checkpoint's, or the manifest's where it has none.
  std::vector<std::string> class_names() const;
  // As NameDifference() has it: labels of the records mean other classes than the model's.
  std::string name_difference() const;
};

// Without --spec, images are read with the spec that the checkpoint's evaluations were read with,
// as it is; else with EvalSpecOf() the spec that is named or the manifest's. Says on stderr what is
// drawn at random all the same.
// REQUIRES: CheckRecordsFlags().
// kInvalidArgument: records that are not the model's, or --dtype packed for a model of images.
// kFailedPrecondition: boards whose spec makes other targets of scores than the training's. Further
// errors as LoadCheckpoint(), OpenManifest() and Loader::Open().
absl::StatusOr<JudgedRecords> OpenJudgedRecords(const std::string& checkpoint,
                                                const RecordsFlags& flags);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_JUDGED_RECORDS_H_
