// A checkpoint's model, with records to evaluate or predict.
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

// Builds a backend with the weights of `loaded`, and takes them from it. The virtual shards, the
// rows of a block and the precision are those of the training, so that results equal its
// evaluations bit for bit on the same machine.
absl::StatusOr<std::unique_ptr<CpuBackend>> RestoreBackend(Checkpoint& loaded, uint64_t threads);

// Not thread-safe.
struct JudgedRecords {
  CheckpointInfo info;
  std::shared_ptr<const Manifest> manifest;  // Shared with the input.
  std::unique_ptr<CpuBackend> backend;
  std::unique_ptr<BatchReader> reader;
  // Reads each record once, in file order. Batches are as large as those of the training.
  std::unique_ptr<Input> input;

  // The checkpoint's names, or the manifest's if the checkpoint has none.
  std::vector<std::string> class_names() const;
  // The result of NameDifference(). If it is not empty, labels of the records mean other classes
  // than the model's.
  std::string name_difference() const;
};

// Without --spec, images are read with the spec of the checkpoint's evaluations, unchanged.
// Otherwise records are read with EvalSpecOf() of the named spec or of the manifest's. Prints on
// stderr which operations still draw at random. REQUIRES: CheckRecordsFlags(). kInvalidArgument:
// the records do not fit the model, or --dtype packed for a model of images. kFailedPrecondition:
// the spec of boards turns scores into other targets than the training's spec. Other errors are
// those of LoadCheckpoint(), OpenManifest() and Loader::Open().
absl::StatusOr<JudgedRecords> OpenJudgedRecords(const std::string& checkpoint,
                                                const RecordsFlags& flags);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_JUDGED_RECORDS_H_
