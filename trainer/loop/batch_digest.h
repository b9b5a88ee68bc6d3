// SHA-256 over every row handed to the training, for comparison with the plan's own digest
// (`penstock stream --digest`).
#ifndef PENSTOCK_TRAINER_LOOP_BATCH_DIGEST_H_
#define PENSTOCK_TRAINER_LOOP_BATCH_DIGEST_H_

#include <string>

#include "base/sha256.h"
#include "trainer/input/input.h"

namespace penstock {

// Hashes row by row, each row's tensors in the batch's order. The digest therefore depends on the
// order of the rows, but not on the batch boundaries. Not thread-safe.
class BatchDigest {
 public:
  void Add(const InputBatch& batch) {
    for (size_t row = 0; row < batch.rows; ++row) {
      for (const TensorView& tensor : batch.tensors) {
        hash_.Update(tensor.bytes.subspan(row * tensor.row_bytes, tensor.row_bytes));
      }
    }
  }
  std::string Hex() const { return hash_.Hex(); }

 private:
  Sha256 hash_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_BATCH_DIGEST_H_
