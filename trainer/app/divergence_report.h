// Writes out the records of the batch on which a training diverged, for inspection.
#ifndef PENSTOCK_TRAINER_APP_DIVERGENCE_REPORT_H_
#define PENSTOCK_TRAINER_APP_DIVERGENCE_REPORT_H_

#include <string>

#include "records/dataset/manifest.h"
#include "trainer/loop/train_loop.h"

namespace penstock {

// {"step", "position", "problem", "rows": [{"row", "record_id", "shard", "chunk_offset", "record",
// "replaced", "finite"}]}: for each row, its record's number in the manifest and in its shard, and
// whether the model's prediction for it was a number.
std::string DivergenceJson(const Divergence& divergence, const Manifest& manifest);

// Writes DivergenceJson() to the file diverged-step-N<mark>.json in `folder`, or in the current
// folder if `folder` is empty. Returns a line to print: the file's path, or why it could not be
// written.
std::string ReportDivergence(const Divergence& divergence, const Manifest& manifest,
                             const std::string& folder, const std::string& mark = "");

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_DIVERGENCE_REPORT_H_
