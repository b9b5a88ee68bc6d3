#include "trainer/loop/evaluate.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "trainer/comm/gather.h"
#include "trainer/loop/agreement.h"

namespace penstock {

std::string Evaluation::ToString() const {
  if (hits.has_value()) {
    const std::string text = absl::StrFormat("loss %.4f, accuracy %.1f %%", loss, 100 * accuracy());
    return top5_hits.has_value() ? absl::StrFormat("%s, top-5 %.1f %%", text, 100 * top5()) : text;
  }
  const double percent = below_mean_percent();
  return absl::StrFormat("loss %.4f, %.1f %% %s predicting the mean (%.4f)", loss,
                         percent < 0 ? -percent : percent, percent < 0 ? "above" : "below",
                         train_mean_loss);
}

namespace {

constexpr size_t kTop = 5;

// Sums over rows, in row order.
struct Sums {
  uint64_t records = 0, hits = 0, top5_hits = 0;
  double errors = 0, from_train_mean = 0, scores = 0, squares = 0;

  // Each row has `results` numbers.
  void Add(size_t results, std::span<const float> predictions, std::span<const float> targets,
           double train_mean) {
    results == 1 ? AddScores(predictions, targets, train_mean)
                 : AddClasses(results, predictions, targets.size());
    records += targets.size();
  }
  void AddScores(std::span<const float> predictions, std::span<const float> row_scores,
                 double train_mean) {
    for (size_t i = 0; i < row_scores.size(); ++i) {
      const double score = row_scores[i], error = predictions[i] - score;
      errors += error * error;
      from_train_mean += (score - train_mean) * (score - train_mean);
      scores += score;
      squares += score * score;
    }
  }
  void AddClasses(size_t results, std::span<const float> predictions, size_t rows) {
    for (size_t i = 0; i < rows; ++i) {
      const float ahead = predictions[i * results + 1];  // Classes likelier than the row's own.
      errors += predictions[i * results];
      hits += ahead < 1;
      top5_hits += ahead < static_cast<float>(kTop);
    }
  }
  void Add(const Sums& others) {
    records += others.records;
    hits += others.hits;
    top5_hits += others.top5_hits;
    errors += others.errors;
    from_train_mean += others.from_train_mean;
    scores += others.scores;
    squares += others.squares;
  }

  // `classes` is the number of classes of an image model, or 0 for boards.
  absl::StatusOr<Evaluation> Result(size_t classes) const {
    if (records == 0) {
      return absl::FailedPreconditionError(
          "there are no held-out records: index the data with --holdout 5%");
    }
    const auto count = static_cast<double>(records);
    if (classes > 0) {
      Evaluation images{.records = records, .loss = errors / count, .hits = hits};
      if (classes > kTop) images.top5_hits = top5_hits;
      return images;
    }
    return Evaluation{.records = records,
                      .loss = errors / count,
                      .train_mean_loss = from_train_mean / count,
                      .own_mean_loss = squares / count - (scores / count) * (scores / count)};
  }
};

// Predicts one batch of an evaluation, on all ranks.
class BatchPredictor {
 public:
  BatchPredictor(Backend& backend, Communicator& ranks) : backend_(backend), ranks_(ranks) {}

  // `rows` are those of the batch.
  absl::Status Run(const InputBatch& batch, const BatchRows& rows) {
    const size_t global = batch.global_rows == 0 ? batch.rows : batch.global_rows;
    const size_t first = FirstRowOf(ranks_.rank(), ranks_.size(), global);
    const size_t results = backend_.results();
    predictions.resize(global * results);
    targets.resize(global);
    const std::span<float> own =
        std::span(predictions).subspan(first * results, rows.rows * results);
    PENSTOCK_RETURN_IF_ERROR(backend_.Predict(rows, own, global));
    std::copy_n(rows.targets, rows.rows, targets.data() + first);
    const std::span<float> arrays[] = {predictions, targets};
    return GatherRows(ranks_, global, arrays);
  }

  std::vector<float> predictions, targets;  // One row for each row of all ranks.

 private:
  Backend& backend_;
  Communicator& ranks_;
};

// Predicts a batch of this rank alone. The backend is told that the other ranks have equally many
// rows, so that it takes all rows of the batch as this rank's.
absl::Status PredictOwn(Backend& backend, BatchReader& reader, const InputBatch& batch,
                        size_t ranks, double train_mean, std::vector<float>& predictions,
                        Sums& sums) {
  PENSTOCK_ASSIGN_OR_RETURN(const BatchRows rows, reader.Read(batch));
  predictions.resize(rows.rows * backend.results());
  if (rows.rows == 0) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(backend.Predict(rows, predictions, rows.rows * ranks));
  sums.Add(backend.results(), predictions, {rows.targets, rows.rows}, train_mean);
  return absl::OkStatus();
}

Intent ReadRows(BatchReader& reader, const InputBatch& batch, BatchRows& rows,
                absl::Status& status) {
  absl::StatusOr<BatchRows> read = reader.Read(batch);
  status = read.status();
  if (!read.ok()) return Intent::kFailed;
  rows = *read;
  return Intent::kGo;
}

// Returns the error that ends an evaluation early on all ranks; `own` is this rank's.
absl::Status EndTogether(const Agreed& agreed, const absl::Status& own, bool* together) {
  if (agreed.intent == Intent::kStop) return absl::CancelledError("the evaluation was stopped");
  if (agreed.intent != Intent::kFailed) return absl::OkStatus();
  if (together != nullptr) *together = true;
  return own.ok() ? absl::UnavailableError(agreed.why) : own;
}

// After a batch, returns whether all ranks are `done`.
absl::StatusOr<bool> AgreeOnEnd(Communicator& ranks, Intent intent, bool done,
                                const absl::Status& status, bool* together) {
  if (intent == Intent::kEnd) intent = Intent::kGo;  // Other ranks may have more batches.
  PENSTOCK_ASSIGN_OR_RETURN(const Agreed agreed, Agree(ranks, intent, 0, status));
  PENSTOCK_RETURN_IF_ERROR(EndTogether(agreed, status, together));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint8_t> all,
                            GatherOne(ranks, static_cast<uint8_t>(done)));
  return std::find(all.begin(), all.end(), 0) == all.end();
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(Backend& backend, BatchReader& reader, Input& input,
                                    double train_mean, const std::function<bool()>& should_stop,
                                    Communicator* ranks, bool* together) {
  SingleCommunicator alone;
  Communicator& all = ranks == nullptr ? alone : *ranks;
  BatchPredictor predictor(backend, all);
  Sums sums;
  for (InputBatch batch;;) {
    absl::Status status;
    Intent own = ReadBatch(input, should_stop, batch, status);
    BatchRows rows;
    if (own == Intent::kGo) own = ReadRows(reader, batch, rows, status);
    PENSTOCK_ASSIGN_OR_RETURN(const Agreed agreed, Agree(all, own, batch.first_position, status));
    PENSTOCK_RETURN_IF_ERROR(EndTogether(agreed, status, together));
    if (agreed.intent == Intent::kEnd) return sums.Result(backend.classes());
    PENSTOCK_RETURN_IF_ERROR(predictor.Run(batch, rows));
    sums.Add(backend.results(), predictor.predictions, predictor.targets, train_mean);
  }
}

absl::StatusOr<Evaluation> EvaluateApart(Backend& backend, BatchReader& reader, Input& input,
                                         double train_mean,
                                         const std::function<bool()>& should_stop,
                                         Communicator& ranks, bool* together) {
  Sums own;
  std::vector<float> predictions;
  for (bool own_done = false, all_done = false; !all_done;) {
    InputBatch batch;
    absl::Status status;
    Intent intent = Intent::kGo;
    if (!own_done) intent = ReadBatch(input, should_stop, batch, status);
    own_done |= intent == Intent::kEnd;
    if (!own_done && intent == Intent::kGo) {
      status = PredictOwn(backend, reader, batch, ranks.size(), train_mean, predictions, own);
      if (!status.ok()) intent = Intent::kFailed;
    }
    PENSTOCK_ASSIGN_OR_RETURN(all_done, AgreeOnEnd(ranks, intent, own_done, status, together));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Sums> parts, GatherOne(ranks, own));
  Sums all;
  for (const Sums& part : parts) all.Add(part);
  return all.Result(backend.classes());
}

}  // namespace penstock
