// Images in memory, as a training's input.
#ifndef PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_IMAGES_H_
#define PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/backend/testing/images.h"
#include "trainer/input/testing/memory_batches.h"

namespace penstock {

// RandomImages with labels.
class MemoryImages final : public MemoryBatches {
 public:
  MemoryImages(const ModelConfig& model, size_t records, size_t batch_size, uint64_t seed = 1,
               const std::string& cursor = "", size_t rank = 0, size_t world_size = 1)
      : MemoryBatches(records, batch_size, cursor, rank, world_size),
        images_(model, records, seed),
        labels_(images_.classes.begin(), images_.classes.end()) {}

  // Sets the label of a record.
  void SetLabel(size_t record, int64_t label) { labels_[record] = label; }

 private:
  std::vector<TensorView> TensorsOf(size_t first, size_t rows) const override {
    const size_t bytes = images_.rows().format.input_bytes;
    return {TensorOf("image", Dtype::kU8, bytes, images_.pixels.data(), first, rows),
            TensorOf("label", Dtype::kI64, sizeof(int64_t), labels_.data(), first, rows)};
  }

  RandomImages images_;
  std::vector<int64_t> labels_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_IMAGES_H_
