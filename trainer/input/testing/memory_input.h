// Random board records as an input, for tests.
#ifndef PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_INPUT_H_
#define PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_INPUT_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trainer/backend/testing/boards.h"
#include "trainer/input/input.h"

namespace penstock {

// `records` packed records in batches of `batch_size`; the last may be short. A cursor is the
// number of the next record. Rank r of R has its part of each batch.
class MemoryInput : public Input {
 public:
  MemoryInput(size_t records, size_t batch_size, uint64_t seed = 1, std::string cursor = "",
              size_t rank = 0, size_t world_size = 1)
      : boards_(records, seed),
        scores_(records),
        batch_size_(batch_size),
        rank_(rank),
        world_size_(world_size) {
    // Learnable from the first flag: the record's bit 1536.
    for (size_t i = 0; i < records; ++i) {
      uint8_t& byte = boards_.records[i * 194 + 192 + 1];
      byte = 0;  // No mate.
      scores_[i] = (boards_.records[i * 194 + 192] & 0x80) != 0 ? 300 : -300;
    }
    (void)absl::SimpleAtoi(cursor, &next_);  // "" is the beginning.
  }

  absl::StatusOr<bool> Next(InputBatch& batch) override {
    if (closed_) return absl::CancelledError("closed");
    if (next_ >= scores_.size()) return false;
    batch.global_rows = std::min<size_t>(batch_size_, scores_.size() - next_);
    batch.first_position = next_;
    const size_t first = next_ + rank_ * batch.global_rows / world_size_;
    batch.rows = next_ + (rank_ + 1) * batch.global_rows / world_size_ - first;
    batch.tensors = {
        {"d", Dtype::kU8, 194, {boards_.records.data() + first * 194, batch.rows * 194}},
        {"s",
         Dtype::kI64,
         8,
         {reinterpret_cast<const uint8_t*>(scores_.data() + first), batch.rows * 8}}};
    next_ += batch.global_rows;
    batch.cursor = absl::StrCat(next_);
    return true;
  }
  bool Ready() const override { return true; }
  void Close() override { closed_ = true; }

 private:
  RandomBoards boards_;
  std::vector<int64_t> scores_;
  size_t batch_size_, rank_, world_size_;
  uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_INPUT_H_
