// Converts a batch's tensors to a model's input.
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

  // The result borrows the batch and this reader's memory until the next call. kInvalidArgument:
  // other tensors than the model reads; the message names the tensors found and those accepted.
  virtual absl::StatusOr<BatchRows> Read(const InputBatch& batch) = 0;
};

// Checks a batch for a reader. kInternal: the size of a tensor does not match its number of rows.
absl::Status CheckRowBytes(const InputBatch& batch);
bool IsTensor(const TensorView* tensor, Dtype dtype, size_t row_bytes);
// Describes the tensors: "planes i8 of 1536 bytes a row, ...".
std::string DescribeTensors(const InputBatch& batch);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_BATCH_READER_H_
