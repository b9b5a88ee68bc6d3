// What makes of a batch's tensors what a model takes.
#ifndef PENSTOCK_TRAINER_INPUT_BATCH_READER_H_
#define PENSTOCK_TRAINER_INPUT_BATCH_READER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/input/input.h"

namespace penstock {

// Not thread-safe.
class BatchReader {
 public:
  virtual ~BatchReader() = default;

  // Borrows the batch and this reader's memory until the next call.
  // kInvalidArgument: other tensors, naming what came and what is accepted.
  virtual absl::StatusOr<BatchRows> Read(const InputBatch& batch) = 0;
};

// For readers. kInternal: a tensor whose bytes are not those of its rows.
absl::Status CheckRowBytes(const InputBatch& batch);
bool IsTensor(const TensorView* tensor, Dtype dtype, size_t row_bytes);
// "planes i8 of 1536 bytes a row, ..."
std::string DescribeTensors(const InputBatch& batch);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_BATCH_READER_H_
