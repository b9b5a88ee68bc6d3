#include <cstdio>

#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "nlohmann/json.hpp"
#include "trainer/app/commands.h"
#include "trainer/app/confusion_matrix.h"
#include "trainer/app/judged_records.h"
#include "trainer/app/report.h"

namespace penstock {

void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--checkpoint", options.checkpoint, "The checkpoint file")->required();
  AddRecordsFlags(app, options.records);
  app.add_option("--confusion-matrix", options.confusion_matrix,
                 "Also write how often each class was taken for which, of images, to this picture "
                 "(.png); it reads the records once more");
  app.add_flag("--json", options.json, "Print an object for programs");
  app.footer(
      "Example:\n"
      "  penstock-train evaluate --checkpoint checkpoints/best.ckpt --manifest data/manifest.pb "
      "\\\n"
      "      --split holdout");
}

absl::Status CheckEvaluate(const EvaluateOptions& options) {
  if (!options.confusion_matrix.empty()) {
    PENSTOCK_RETURN_IF_ERROR(CheckConfusionMatrixName(options.confusion_matrix));
  }
  return CheckRecordsFlags(options.records);
}

absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(JudgedRecords judged,
                            OpenJudgedRecords(options.checkpoint, options.records));
  const CheckpointInfo& info = judged.info;
  const double train_mean =
      info.score_count == 0 ? 0 : info.score_sum / static_cast<double>(info.score_count);
  return Evaluate(*judged.backend, *judged.reader, *judged.input, train_mean);
}

absl::Status RunEvaluate(const EvaluateOptions& options) {
  if (!options.confusion_matrix.empty()) {
    PENSTOCK_RETURN_IF_ERROR(
        WriteConfusionMatrix(options.checkpoint, options.records, options.confusion_matrix));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateCheckpoint(options));
  if (options.json) {
    PrintEscaped(stdout, "%s\n", EvaluationJson(evaluation));
    return absl::OkStatus();
  }
  PrintEscaped(stdout, "%s: %s over %s records\n", options.records.split, evaluation.ToString(),
               Grouped(evaluation.records));
  return absl::OkStatus();
}

}  // namespace penstock
