// A training's results for programs: one line of JSON per step, and a summary at the end.
#ifndef PENSTOCK_TRAINER_APP_REPORT_H_
#define PENSTOCK_TRAINER_APP_REPORT_H_

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/output_file.h"
#include "records/image/image_note.h"
#include "trainer/app/event_file.h"
#include "trainer/backend/backend.h"
#include "trainer/input/input.h"
#include "trainer/loop/train_loop.h"
#include "trainer/profile/device_gaps.h"
#include "trainer/profile/verdict.h"

namespace penstock {

// The kind of rows that a training reads.
enum class RowKind { kPositions, kImages };
// "positions" or "images".
absl::string_view RowsName(RowKind kind);

// {"event": "step", "step": 3, "steps": 300, "loss": ..., "servers": [{"address": ...}]}
std::string StepEvent(const StepReport& report, const std::vector<InputServer>& servers);
// {"event": "evaluation", "step": 300, "loss": ..., "records": ...}
std::string EvaluationEvent(uint64_t step, const Evaluation& evaluation);
// {"records": 2000, "loss": ...}
std::string EvaluationJson(const Evaluation& evaluation);
// Writes the same numbers as scalars for TensorBoard. For positions, the rate is also written under
// its older name.
void WriteStep(EventFile& board, const StepReport& report, RowKind kind);
void WriteEvaluation(EventFile& board, uint64_t step, const Evaluation& evaluation);
// `told` has the facts that the options already decide.
Verdict JudgeTraining(const TrainSummary& summary, const BackendDescription& backend,
                      const VerdictOptions& told);
// The data that this rank read for training.
struct InputReport {
  std::vector<InputServer> servers;
  ImageCounts images;  // Equals LoaderStats::images.
};

// The object that --json writes, one field per line. For positions, it also has the number and the
// rate of rows under their older names. `device` has the times of the steps of --profile-steps.
std::string SummaryJson(const TrainSummary& summary, RowKind kind, const InputReport& input,
                        const Verdict& verdict = {},
                        const std::optional<DeviceTimes>& device = std::nullopt);

// Appends lines to a file, and flushes each. Not thread-safe.
class EventLog {
 public:
  // If `path` is empty, nothing is written. Unless the training `goes_on`, the file is emptied
  // first.
  static absl::StatusOr<EventLog> Open(const std::string& path, bool goes_on);
  // Calls `line` only if a file is open.
  void Write(absl::FunctionRef<std::string()> line);
  // An error if a write has failed since Open().
  absl::Status status() const;

 private:
  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_REPORT_H_
