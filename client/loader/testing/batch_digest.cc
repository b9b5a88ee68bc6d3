#include "client/loader/testing/batch_digest.h"

namespace penstock {

void BatchDigest::Add(const Batch& batch) {
  for (size_t row = 0; row < batch.rows(); ++row) {
    for (const TensorView& tensor : batch.tensors()) {
      const size_t row_bytes = tensor.bytes.size() / batch.rows();
      hash_.Update(tensor.bytes.subspan(row * row_bytes, row_bytes));
    }
  }
}

}  // namespace penstock
