#include "trainer/input/image_reader.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/record_id.h"

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

absl::Status ImageReader::BadLabel(const InputBatch& batch, size_t row, int64_t label) const {
  std::string record;
  if (row < batch.record_ids.size()) {
    const uint64_t id = batch.record_ids[row];
    record = absl::StrCat(", record ", OrdinalOf(id));
    if (labels_.locate) absl::StrAppend(&record, " (", labels_.locate(id), ")");
  }
  return absl::InvalidArgumentError(absl::StrCat("row ", row, " of the batch from position ",
                                                 batch.first_position, record, ": ",
                                                 DescribeBadLabel(label, labels_)));
}

absl::Status ImageReader::ReadLabels(const InputBatch& batch, const TensorView& labels) {
  targets_.resize(batch.rows);
  for (size_t row = 0; row < batch.rows; ++row) {
    int64_t number;
    std::memcpy(&number, labels.bytes.data() + row * sizeof(number), sizeof(number));
    if (number < 0 || static_cast<uint64_t>(number) >= labels_.classes) {
      return BadLabel(batch, row, number);
    }
    targets_[row] = static_cast<float>(number);
  }
  return absl::OkStatus();
}

}  // namespace penstock
