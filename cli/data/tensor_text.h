// Shows values of tensors as text.
#ifndef PENSTOCK_CLI_DATA_TENSOR_TEXT_H_
#define PENSTOCK_CLI_DATA_TENSOR_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "nlohmann/json.hpp"
#include "records/decode/program.h"

namespace penstock {

// Returns the tensor's type: "i64 [3]", "f32".
std::string TypeOf(const TensorInfo& tensor);

// Returns the first `most` values of one row of the tensor, as an array.
nlohmann::json FirstValues(const TensorInfo& tensor, std::span<const uint8_t> row, size_t most);

// Returns the values of FirstValues() as text: "3 17 4 ...".
std::string ValuesText(const TensorInfo& tensor, std::span<const uint8_t> row, size_t most);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_TENSOR_TEXT_H_
