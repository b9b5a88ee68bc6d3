// A fingerprint of what a loader hands out.
#ifndef PENSTOCK_CLIENT_LOADER_TESTING_BATCH_DIGEST_H_
#define PENSTOCK_CLIENT_LOADER_TESTING_BATCH_DIGEST_H_

#include <string>

#include "base/sha256.h"
#include "client/loader/loader.h"

namespace penstock {

// SHA-256 over the rows in order: for each row, the bytes of its tensors in the spec's order. It
// does not depend on how rows are divided into batches. Not thread-safe.
class BatchDigest {
 public:
  void Add(const Batch& batch) {
    for (size_t row = 0; row < batch.rows(); ++row) {
      for (const TensorView& tensor : batch.tensors()) {
        const size_t row_bytes = tensor.bytes.size() / batch.rows();
        hash_.Update(tensor.bytes.subspan(row * row_bytes, row_bytes));
      }
    }
  }
  // The digest of all rows so far, as 64 lower-case hexadecimal digits.
  std::string Hex() const { return hash_.Hex(); }

 private:
  Sha256 hash_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_TESTING_BATCH_DIGEST_H_
