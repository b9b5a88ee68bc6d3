// Reads batches for image models.
#ifndef PENSTOCK_TRAINER_INPUT_IMAGE_READER_H_
#define PENSTOCK_TRAINER_INPUT_IMAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/input/batch_reader.h"
#include "trainer/input/label_error.h"

namespace penstock {

// Accepts `image` (u8, side x side x 3: rows of pixels with red, green and blue) and `label` (i64).
// Also kInvalidArgument: a label that is not a class number. Not thread-safe.
class ImageReader final : public BatchReader {
 public:
  // `labels` has the number of classes, and facts for messages about wrong labels.
  ImageReader(size_t side, LabelFacts labels) : side_(side), labels_(std::move(labels)) {}

  absl::StatusOr<BatchRows> Read(const InputBatch& batch) override;

 private:
  absl::Status BadLabel(const InputBatch& batch, size_t row, int64_t label) const;
  absl::Status ReadLabels(const InputBatch& batch, const TensorView& labels);

  const size_t side_;
  const LabelFacts labels_;
  std::vector<float> targets_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_IMAGE_READER_H_
