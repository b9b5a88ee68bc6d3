// The records of a batch that a training diverged on, written out to be looked at.
#ifndef PENSTOCK_TRAINER_APP_DIVERGENCE_REPORT_H_
#define PENSTOCK_TRAINER_APP_DIVERGENCE_REPORT_H_

#include <string>

#include "records/dataset/manifest.h"
#include "trainer/loop/train_loop.h"

namespace penstock {

// {"step", "position", "problem", "rows": [{"row", "record_id", "shard", "chunk_offset", "record",
// "replaced", "finite"}]}: each row's record, by its number over the manifest and in its shard, and
// whether the model's prediction for it was a number.
std::string DivergenceJson(const Divergence& divergence, const Manifest& manifest);

// Writes it as diverged-step-N<mark>.json into `folder` (empty: into the current one). Returns what
// to tell: where it is, or why it could not be written.
std::string ReportDivergence(const Divergence& divergence, const Manifest& manifest,
                             const std::string& folder, const std::string& mark = "");

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_DIVERGENCE_REPORT_H_
