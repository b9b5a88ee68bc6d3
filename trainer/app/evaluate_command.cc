#include <cstdio>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/json_flag.h"
#include "base/flags/path_flags.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "trainer/app/commands.h"
#include "trainer/app/confusion_matrix.h"
#include "trainer/app/judged_records.h"
#include "trainer/app/report.h"

namespace penstock {

void AddEvaluateOptions(CLI::App& app, EvaluateOptions& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--checkpoint", options.checkpoint, "Checkpoint to read")
      ->type_name("FILE")
      ->required();
  AddRecordsFlags(app, options.records);
  app.add_option("--confusion-matrix", options.confusion_matrix,
                 "Draw to a .png file how often images of each class were predicted as each class")
      ->type_name("FILE")
      ->group("Output");
  AddJsonFlag(app, options.json, "Write the result");
  app.footer(
      "Example:\n"
      "  penstock-train evaluate --checkpoint checkpoints/best.ckpt data \\\n"
      "      --split holdout");
}

absl::Status CheckEvaluate(const EvaluateOptions& options) {
  if (!options.confusion_matrix.empty()) {
    PENSTOCK_RETURN_IF_ERROR(CheckConfusionMatrixName(options.confusion_matrix));
  }
  return CheckRecordsFlags(options.records);
}

namespace {

// Evaluates on batches that come through `reader`.
absl::StatusOr<Evaluation> EvaluateWith(JudgedRecords& judged, BatchReader& reader) {
  const CheckpointInfo& info = judged.info;
  const double train_mean =
      info.score_count == 0 ? 0 : info.score_sum / static_cast<double>(info.score_count);
  return Evaluate(*judged.backend, reader, *judged.input, train_mean);
}

// Does the same evaluation, and writes the confusion matrix as a picture.
absl::StatusOr<Evaluation> EvaluateConfusions(const EvaluateOptions& options,
                                              JudgedRecords& judged) {
  PENSTOCK_RETURN_IF_ERROR(CheckHasConfusions(judged.info.model));
  ConfusionMatrix matrix(judged.info.model.classes);
  ConfusionReader reader(*judged.reader, *judged.backend, matrix);
  PENSTOCK_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateWith(judged, reader));
  PENSTOCK_RETURN_IF_ERROR(WriteCountGrid(matrix.Grid(judged.class_names(), options.records.split),
                                          options.confusion_matrix));
  return evaluation;
}

// Checks that labels mean the model's classes. Otherwise the results of the evaluation mean
// nothing.
absl::Status CheckSameClasses(const JudgedRecords& judged) {
  const std::string difference = judged.name_difference();
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      difference,
      ": the labels have other meanings than in the model's training. If a class was only "
      "renamed, put its old name into classes.txt beside the shards and index again"));
}

absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(JudgedRecords judged,
                            OpenJudgedRecords(options.checkpoint, options.records));
  PENSTOCK_RETURN_IF_ERROR(CheckSameClasses(judged));
  if (options.confusion_matrix.empty()) return EvaluateWith(judged, *judged.reader);
  return EvaluateConfusions(options, judged);
}

}  // namespace

absl::Status RunEvaluate(const EvaluateOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(options.json));
  if (!options.confusion_matrix.empty()) {
    PENSTOCK_RETURN_IF_ERROR(CheckWritable("--confusion-matrix", options.confusion_matrix));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Evaluation evaluation, EvaluateCheckpoint(options));
  if (options.json != kStandardOutput) {
    PrintEscaped(stdout, "%s: %s over %s records\n", options.records.split, evaluation.ToString(),
                 Grouped(evaluation.records));
  }
  return options.json.empty() ? absl::OkStatus()
                              : WriteJson(options.json, EvaluationJson(evaluation));
}

}  // namespace penstock
