#include "trainer/input/image_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<BatchRows> ImageReader::Read(const InputBatch& batch) {
  PENSTOCK_RETURN_IF_ERROR(CheckRowBytes(batch));
  const InputFormat format = ImagesOf(side_);
  const TensorView *image = batch.tensor("image"), *label = batch.tensor("label");
  if (!IsTensor(image, Dtype::kU8, format.input_bytes) ||
      !IsTensor(label, Dtype::kI64, sizeof(int64_t))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image model cannot read these tensors: ", DescribeTensors(batch),
                     "; it takes image (u8, ", side_, " x ", side_, " x 3) and label (i64)"));
  }
  PENSTOCK_RETURN_IF_ERROR(ReadLabels(batch, *label));
  return BatchRows{format, batch.rows, image->bytes.data(), nullptr, targets_.data()};
}

// The most frequent mistake is told first.
std::string ImageReader::AdviceFor(int64_t label) const {
  if (label < 0 || static_cast<uint64_t>(label) != classes_) return "give --classes as many";
  return absl::StrCat(
      "labels count from 1: use --spec images-train:", side_,
      ",label-1 (in a spec of your own, `add: -1` of the label), or give --classes ", classes_ + 1);
}

absl::Status ImageReader::ReadLabels(const InputBatch& batch, const TensorView& labels) {
  targets_.resize(batch.rows);
  for (size_t row = 0; row < batch.rows; ++row) {
    int64_t number;
    std::memcpy(&number, labels.bytes.data() + row * sizeof(number), sizeof(number));
    if (number < 0 || static_cast<uint64_t>(number) >= classes_) {
      std::string record;
      if (row < batch.record_ids.size()) record = absl::StrCat(", record ", batch.record_ids[row]);
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, " of the batch from position ", batch.first_position, record,
                       ": its label is ", number, ", and there are ", classes_,
                       " classes, counted from 0: ", AdviceFor(number)));
    }
    targets_[row] = static_cast<float>(number);
  }
  return absl::OkStatus();
}

}  // namespace penstock
