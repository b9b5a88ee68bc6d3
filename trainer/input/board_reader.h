// Batches as the board model takes them.
#ifndef PENSTOCK_TRAINER_INPUT_BOARD_READER_H_
#define PENSTOCK_TRAINER_INPUT_BOARD_READER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "records/decode/score.h"
#include "trainer/backend/board_rows.h"
#include "trainer/input/input.h"

namespace penstock {

// Accepts packed features (d u8[194], s i64: the score is computed here, in the same bits as a
// server would) or decoded tensors (planes and flags, i8 or f32, and score f32).
// Not thread-safe.
class BoardReader {
 public:
  explicit BoardReader(const MateScoreParams& params = {}) : params_(params) {}

  // Borrows the batch and, for packed input, this reader's memory until the next call.
  // kInvalidArgument: other tensors, naming what came and what is accepted.
  absl::StatusOr<BoardRows> Read(const InputBatch& batch);

 private:
  absl::StatusOr<BoardRows> ReadPacked(const InputBatch& batch);
  absl::StatusOr<BoardRows> ReadDecoded(const InputBatch& batch);

  MateScoreParams params_;
  std::vector<float> scores_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_BOARD_READER_H_
