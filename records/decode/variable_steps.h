// Steps for features that a record may lack, or may have in any length. They read each row through
// its entry (records/format/variable_entry.h).
#ifndef PENSTOCK_RECORDS_DECODE_VARIABLE_STEPS_H_
#define PENSTOCK_RECORDS_DECODE_VARIABLE_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "records/decode/program.h"

namespace penstock {

// In each step, `column` is an index into features().

// Writes numbers, then the fill for numbers that a row lacks. Fails if the tensor's dtype cannot
// hold an integer exactly.
struct VariableNumbersStep {
  size_t column = 0;
  FeatureType type = FeatureType::kInt64;
  size_t capacity = 0;        // Values in a row of the tensor; further values are cut.
  std::vector<uint8_t> fill;  // In the tensor's form: one number for all, or `capacity` numbers.
};

// Writes the bytes of one value, and takes the rest of the row from `fill`.
struct VariableBytesStep {
  size_t column = 0;
  size_t capacity = 0;
  std::vector<uint8_t> fill;  // One byte for all, or `capacity` bytes.
};

// Writes up to `count` values of a list, each cut or filled to `length` bytes.
struct BytesListStep {
  size_t column = 0;
  size_t count = 0;
  size_t length = 0;
  uint8_t fill = 0;
};

// Writes how many bytes of each value BytesListStep keeps; 0 if there is no value.
struct ListLengthsStep {
  size_t column = 0;
  size_t count = 0;
  size_t length = 0;
};

// Writes the number of items of a row that are real.
struct LengthStep {
  size_t column = 0;
  bool of_bytes = false;  // True if an item is `item` bytes of the one value, not `item` values.
  size_t item = 1;
  size_t capacity = 0;  // Items in a row of the tensor; further items are cut.
};

struct PresenceStep {
  size_t column = 0;
};

// Writes one integer plus `add`. Fails if the sum does not fit into an int64.
struct LabelStep {
  size_t column = 0;
  bool optional = false;  // True if the row has an entry instead of the integer.
  int64_t add = 0;
  int64_t absent = 0;  // The label of a row without the feature, written without `add`.
};

using VariableStep = std::variant<VariableNumbersStep, VariableBytesStep, BytesListStep,
                                  ListLengthsStep, LengthStep, PresenceStep, LabelStep>;

// Each function writes a row of `tensor` for each of `rows`, up to the first row that fails.
using StepFailure = std::optional<DecodeFailure>;
using StepRows = std::span<const uint8_t* const>;
StepFailure FillRows(const VariableNumbersStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);
StepFailure FillRows(const VariableBytesStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);
StepFailure FillRows(const BytesListStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);
StepFailure FillRows(const ListLengthsStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);
StepFailure FillRows(const LengthStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);
StepFailure FillRows(const PresenceStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);
StepFailure FillRows(const LabelStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out);

// Returns the error for an integer that the dtype cannot hold exactly.
absl::Status NotExact(int64_t value, Dtype dtype);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_VARIABLE_STEPS_H_
