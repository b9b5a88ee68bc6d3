#include "trainer/loop/evaluate.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "records/base/status.h"

namespace penstock {

std::string Evaluation::ToString() const {
  const double percent = below_mean_percent();
  return absl::StrFormat("held-out loss %.4f, %.1f %% %s predicting the mean", loss,
                         percent < 0 ? -percent : percent, percent < 0 ? "above" : "below");
}

absl::StatusOr<Evaluation> Evaluate(CpuBackend& backend, BoardReader& reader, Input& input,
                                    double train_mean, const std::function<bool()>& should_stop) {
  Evaluation result;
  double errors = 0, from_train_mean = 0, scores = 0, squares = 0;
  std::vector<float> predictions;
  for (InputBatch batch;;) {
    if (should_stop && should_stop()) return absl::CancelledError("the evaluation was stopped");
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, input.Next(batch));
    if (!more) break;
    PENSTOCK_ASSIGN_OR_RETURN(const BoardRows rows, reader.Read(batch));
    predictions.resize(rows.rows);
    backend.Predict(rows, predictions);
    for (size_t i = 0; i < rows.rows; ++i) {
      const double score = rows.scores[i], error = predictions[i] - score;
      errors += error * error;
      from_train_mean += (score - train_mean) * (score - train_mean);
      scores += score;
      squares += score * score;
    }
    result.records += rows.rows;
  }
  if (result.records == 0) {
    return absl::FailedPreconditionError(
        "there are no held-out records: index the data with --holdout 5%");
  }
  const auto count = static_cast<double>(result.records);
  result.loss = errors / count;
  result.train_mean_loss = from_train_mean / count;
  result.own_mean_loss = squares / count - (scores / count) * (scores / count);
  return result;
}

}  // namespace penstock
