// Evaluates the model on records that it was not trained on.
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
  double loss = 0;  // Mean over all records of the squared error or the cross-entropy.
  // For images, the number of records whose class was predicted and, with more than five classes,
  // the number of records whose class was among the five likeliest. Not set for boards.
  std::optional<uint64_t> hits = {};
  std::optional<uint64_t> top5_hits = {};
  // For boards, the losses of predicting one number for all records. The first number is the mean
  // of the scores trained on, which is known without the model; the second is the mean of these
  // records' own scores.
  double train_mean_loss = 0;
  double own_mean_loss = 0;

  // How far the loss is below that of predicting the mean of the training's scores; negative if it
  // is above.
  double below_mean_percent() const { return 100 * (1 - loss / train_mean_loss); }
  // Fractions of the records. REQUIRES: hits; top5_hits.
  double accuracy() const { return static_cast<double>(*hits) / static_cast<double>(records); }
  double top5() const { return static_cast<double>(*top5_hits) / static_cast<double>(records); }
  // "loss 0.0123, 46.7 % below predicting the mean (0.0231)"; "loss 2.3026, accuracy 31.4 %, top-5
  // 62.0 %"
  std::string ToString() const;
};

// Reads `input` to its end. Every row counts once, summed in double in row order over the rows of
// all `ranks` (null means this rank alone). All ranks get the same result. `should_stop`, unless
// empty, is polled between batches and when `input` is closed; if it returns true on one rank, all
// stop. `together`, unless null, is set if all ranks end here with this error, which then comes
// from some rank's input. kFailedPrecondition: there are no rows. kCancelled: should_stop()
// returned true.
absl::StatusOr<Evaluation> Evaluate(Backend& backend, BatchReader& reader, Input& input,
                                    double train_mean,
                                    const std::function<bool()>& should_stop = {},
                                    Communicator* ranks = nullptr, bool* together = nullptr);

// Does the same if each rank reads its own rows, in any number. Sums over all ranks in rank order.
// A rank that has read all its rows takes part, batch by batch, until the others have finished.
absl::StatusOr<Evaluation> EvaluateApart(Backend& backend, BatchReader& reader, Input& input,
                                         double train_mean,
                                         const std::function<bool()>& should_stop,
                                         Communicator& ranks, bool* together = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_EVALUATE_H_
