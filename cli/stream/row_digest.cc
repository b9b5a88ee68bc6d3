#include "cli/stream/row_digest.h"

#include <cstring>

namespace penstock {

void RowDigest::Add(const Batch& batch) {
  size_t row_bytes = 0;
  for (const TensorView& tensor : batch.tensors()) row_bytes += tensor.row_bytes;
  rows_.resize(row_bytes * batch.rows());
  size_t offset = 0;
  for (const TensorView& tensor : batch.tensors()) {
    const size_t bytes = tensor.row_bytes;
    for (size_t row = 0; row < batch.rows(); ++row) {
      std::memcpy(rows_.data() + row * row_bytes + offset, tensor.bytes.data() + row * bytes,
                  bytes);
    }
    offset += bytes;
  }
  hash_.Update(rows_);
}

}  // namespace penstock
