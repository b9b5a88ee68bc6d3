// Steps whose feature a record may lack, or have in any length: they read each row through its
// entry (records/format/variable_entry.h).
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

// In each step `column` is an index into features().

// Numbers, then what stands for those that a row lacks. An integer that the tensor's dtype does not
// hold exactly is a failure.
struct VariableNumbersStep {
  size_t column = 0;
  FeatureType type = FeatureType::kInt64;
  size_t capacity = 0;        // Values beyond it are cut.
  std::vector<uint8_t> fill;  // As the tensor has them: one number for all, or `capacity`.
};

// The bytes of one value, then the rest of the row from `fill`.
struct VariableBytesStep {
  size_t column = 0;
  size_t capacity = 0;
  std::vector<uint8_t> fill;  // One byte for all, or `capacity`.
};

// At most `count` values of a list, each cut or filled to `length` bytes.
struct BytesListStep {
  size_t column = 0;
  size_t count = 0;
  size_t length = 0;
  uint8_t fill = 0;
};

// How many bytes of each value BytesListStep keeps; 0 where there is no value.
struct ListLengthsStep {
  size_t column = 0;
  size_t count = 0;
  size_t length = 0;
};

// How many items of a row are real.
struct LengthStep {
  size_t column = 0;
  bool of_bytes = false;  // An item is so many bytes of the one value, instead of so many values.
  size_t item = 1;
  size_t capacity = 0;  // Items beyond it are cut.
};

struct PresenceStep {
  size_t column = 0;
};

// One integer and `add`. A sum outside of int64 is a failure.
struct LabelStep {
  size_t column = 0;
  bool optional = false;  // Whether the row has an entry, instead of the integer.
  int64_t add = 0;
  int64_t absent = 0;  // Written as it is.
};

using VariableStep = std::variant<VariableNumbersStep, VariableBytesStep, BytesListStep,
                                  ListLengthsStep, LengthStep, PresenceStep, LabelStep>;

// Each writes a row of `tensor` for each of `rows`, up to the first one that fails.
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

// Why a row with this integer has no tensor of the dtype.
absl::Status NotExact(int64_t value, Dtype dtype);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_VARIABLE_STEPS_H_
