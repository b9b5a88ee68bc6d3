// A training's results for programs: a line of JSON a step, and a summary at the end.
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
// The same as scalars for TensorBoard; of positions the rate under its older name, too.
void WriteStep(EventFile& board, const StepReport& report, RowKind kind);
void WriteEvaluation(EventFile& board, uint64_t step, const Evaluation& evaluation);
// `told`: what the options say already.
Verdict JudgeTraining(const TrainSummary& summary, const BackendDescription& backend,
                      const VerdictOptions& told);
// What this rank read to train on.
struct InputReport {
  std::vector<InputServer> servers;
  ImageCounts images;  // As LoaderStats::images.
};

// The object that --json writes; one field a line. Of positions it has the number and the rate of
// rows under their older names, too. `device`: of the steps of --profile-steps.
std::string SummaryJson(const TrainSummary& summary, RowKind kind, const InputReport& input,
                        const Verdict& verdict = {},
                        const std::optional<DeviceTimes>& device = std::nullopt);

// Appends lines to a file, each flushed. Not thread-safe.
class EventLog {
 public:
  // An empty path: nothing is written. Unless the training `goes_on`, the file is emptied first.
  static absl::StatusOr<EventLog> Open(const std::string& path, bool goes_on);
  // Calls `line` only if lines are wanted.
  void Write(absl::FunctionRef<std::string()> line);
  // What went wrong since Open().
  absl::Status status() const;

 private:
  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_REPORT_H_
