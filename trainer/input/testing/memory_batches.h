// Batches of records in memory, as a training's input.
#ifndef PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_BATCHES_H_
#define PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_BATCHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trainer/input/input.h"

namespace penstock {

// Divides `records` records into batches of `batch_size`; the last may be short. A cursor is the
// number of the next record. Rank r of R gets its part of each batch.
class MemoryBatches : public Input {
 public:
  absl::StatusOr<bool> Next(InputBatch& batch) override {
    if (closed_) return absl::CancelledError("closed");
    if (next_ >= records_) return false;
    batch.global_rows = std::min<size_t>(batch_size_, records_ - next_);
    batch.first_position = next_;
    const size_t first = next_ + rank_ * batch.global_rows / world_size_;
    batch.rows = next_ + (rank_ + 1) * batch.global_rows / world_size_ - first;
    batch.tensors = TensorsOf(first, batch.rows);
    next_ += batch.global_rows;
    batch.cursor = absl::StrCat(next_);
    return true;
  }
  bool Ready() const override { return true; }
  void Close() override { closed_ = true; }

 protected:
  MemoryBatches(size_t records, size_t batch_size, const std::string& cursor, size_t rank,
                size_t world_size)
      : records_(records), batch_size_(batch_size), rank_(rank), world_size_(world_size) {
    (void)absl::SimpleAtoi(cursor, &next_);  // "" is the beginning.
  }

  // Tensors of `rows` records from `first` on.
  virtual std::vector<TensorView> TensorsOf(size_t first, size_t rows) const = 0;
  // A tensor with these rows of `all`.
  static TensorView TensorOf(absl::string_view name, Dtype dtype, size_t row_bytes, const void* all,
                             size_t first, size_t rows) {
    const auto* bytes = static_cast<const uint8_t*>(all);
    return {name, dtype, {}, row_bytes, {bytes + first * row_bytes, rows * row_bytes}};
  }

 private:
  const size_t records_, batch_size_, rank_, world_size_;
  uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_BATCHES_H_
