// Images in memory, as a training's input.
#ifndef PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_IMAGES_H_
#define PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_IMAGES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trainer/backend/testing/images.h"
#include "trainer/input/input.h"

namespace penstock {

// `records` of RandomImages in batches of `batch_size`; the last may be short. A cursor is the
// number of the next record. Rank r of R has its part of each batch.
class MemoryImages final : public Input {
 public:
  MemoryImages(const ModelConfig& model, size_t records, size_t batch_size, uint64_t seed = 1,
               const std::string& cursor = "", size_t rank = 0, size_t world_size = 1)
      : images_(model, records, seed),
        labels_(images_.classes.begin(), images_.classes.end()),
        batch_size_(batch_size),
        rank_(rank),
        world_size_(world_size) {
    (void)absl::SimpleAtoi(cursor, &next_);  // "" is the beginning.
  }

  absl::StatusOr<bool> Next(InputBatch& batch) override {
    if (next_ >= labels_.size()) return false;
    batch.global_rows = std::min<size_t>(batch_size_, labels_.size() - next_);
    batch.first_position = next_;
    const size_t first = next_ + rank_ * batch.global_rows / world_size_;
    batch.rows = next_ + (rank_ + 1) * batch.global_rows / world_size_ - first;
    batch.tensors = {
        TensorOf("image", Dtype::kU8, images_.rows().format.input_bytes, images_.pixels.data(),
                 first, batch.rows),
        TensorOf("label", Dtype::kI64, sizeof(int64_t), labels_.data(), first, batch.rows)};
    next_ += batch.global_rows;
    batch.cursor = absl::StrCat(next_);
    return true;
  }
  bool Ready() const override { return true; }

  // Of a record.
  void SetLabel(size_t record, int64_t label) { labels_[record] = label; }

 private:
  static InputTensor TensorOf(const char* name, Dtype dtype, size_t row_bytes, const void* all,
                              size_t first, size_t rows) {
    return {name,
            dtype,
            row_bytes,
            {static_cast<const uint8_t*>(all) + first * row_bytes, rows * row_bytes}};
  }

  RandomImages images_;
  std::vector<int64_t> labels_;
  size_t batch_size_, rank_, world_size_;
  uint64_t next_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_IMAGES_H_
