// Reads batches for board models.
#ifndef PENSTOCK_TRAINER_INPUT_BOARD_READER_H_
#define PENSTOCK_TRAINER_INPUT_BOARD_READER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "records/decode/score.h"
#include "trainer/input/batch_reader.h"

namespace penstock {

// Accepts packed features (d u8[194], s i64: computes the score here, with the same bits as a
// server), or decoded tensors (planes and flags, i8 or f32, and score f32). Not thread-safe.
class BoardReader final : public BatchReader {
 public:
  explicit BoardReader(const MateScoreParams& params = {}) : params_(params) {}

  absl::StatusOr<BatchRows> Read(const InputBatch& batch) override;

 private:
  absl::StatusOr<BatchRows> ReadPacked(const InputBatch& batch);
  absl::StatusOr<BatchRows> ReadDecoded(const InputBatch& batch);

  MateScoreParams params_;
  std::vector<float> scores_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_BOARD_READER_H_
