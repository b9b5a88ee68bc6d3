// How good the model is on records it was not trained on.
#ifndef PENSTOCK_TRAINER_LOOP_EVALUATE_H_
#define PENSTOCK_TRAINER_LOOP_EVALUATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/backend/backend.h"
#include "trainer/comm/communicator.h"
#include "trainer/input/batch_reader.h"
#include "trainer/input/input.h"

namespace penstock {

struct Evaluation {
  uint64_t records = 0;
  double loss = 0;  // Mean over all records: of the squared error, or of the cross-entropy.
  // Of images: how many were given their class, and of more than five classes for how many theirs
  // was one of the five likeliest. Of boards none.
  std::optional<uint64_t> hits = {};
  std::optional<uint64_t> top5_hits = {};
  // Of boards: what predicting one number for all would give: the mean of the scores trained on
  // (what could be known without the model), and the mean of these records' own scores.
  double train_mean_loss = 0;
  double own_mean_loss = 0;

  // How far the loss is below predicting the mean of the training's scores; negative: above.
  double below_mean_percent() const { return 100 * (1 - loss / train_mean_loss); }
  // Shares of the records. REQUIRES: hits; top5_hits.
  double accuracy() const { return static_cast<double>(*hits) / static_cast<double>(records); }
  double top5() const { return static_cast<double>(*top5_hits) / static_cast<double>(records); }
  // "loss 0.0123, 46.7 % below predicting the mean (0.0231)"; "loss 2.3026, accuracy 31.4 %, top-5
  // 62.0 %"
  std::string ToString() const;
};

// Reads `input` to its end: every row counts once, summed in double in row order, over the rows of
// all `ranks` (null: of this one alone), which all get the same result.
// `should_stop`, unless empty, is asked between batches, and of an `input` that was closed; one
// rank's yes stops all. `together`, unless null, becomes whether all ranks end here with this
// error: it is of an input, of whichever rank.
// kFailedPrecondition: there are no rows; kCancelled: should_stop() said so.
absl::StatusOr<Evaluation> Evaluate(Backend& backend, BatchReader& reader, Input& input,
                                    double train_mean,
                                    const std::function<bool()>& should_stop = {},
                                    Communicator* ranks = nullptr, bool* together = nullptr);

// The same where each rank reads rows of its own, as many as it has: added up over all ranks in
// their order. A rank that has read all its own goes along, batch by batch, until the others have.
absl::StatusOr<Evaluation> EvaluateApart(Backend& backend, BatchReader& reader, Input& input,
                                         double train_mean,
                                         const std::function<bool()>& should_stop,
                                         Communicator& ranks, bool* together = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_EVALUATE_H_
