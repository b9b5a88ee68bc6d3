#include "trainer/input/batch_reader.h"

#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status CheckRowBytes(const InputBatch& batch) {
  for (const TensorView& tensor : batch.tensors) {
    if (tensor.bytes.size() == batch.rows * tensor.row_bytes) continue;
    return absl::InternalError(absl::StrCat("tensor ", tensor.name, " has ", tensor.bytes.size(),
                                            " bytes, which is not ", batch.rows, " rows of ",
                                            tensor.row_bytes, " bytes"));
  }
  return absl::OkStatus();
}

bool IsTensor(const TensorView* tensor, Dtype dtype, size_t row_bytes) {
  return tensor != nullptr && tensor->dtype == dtype && tensor->row_bytes == row_bytes;
}

std::string DescribeTensors(const InputBatch& batch) {
  std::string text;
  for (const TensorView& tensor : batch.tensors) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", tensor.name, " ", DtypeName(tensor.dtype),
                    " of ", tensor.row_bytes, " bytes a row");
  }
  return text;
}

}  // namespace penstock
