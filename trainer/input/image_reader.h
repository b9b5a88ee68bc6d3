// Batches as the image model takes them.
#ifndef PENSTOCK_TRAINER_INPUT_IMAGE_READER_H_
#define PENSTOCK_TRAINER_INPUT_IMAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/input/batch_reader.h"
#include "trainer/input/label_error.h"

namespace penstock {

// Accepts `image` (u8, side x side x 3: rows of pixels, red, green and blue of each) and `label`
// (i64). kInvalidArgument as well: a label that is no number of a class.
// Not thread-safe.
class ImageReader final : public BatchReader {
 public:
  // `labels` says how many classes there are, and explains labels that are none.
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
