// Converts numbers of a NumPy array to those of a feature.
#ifndef PENSTOCK_CLI_PACK_NUMBER_ROWS_H_
#define PENSTOCK_CLI_PACK_NUMBER_ROWS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "records/decode/npy_reader.h"

namespace penstock {

// Sets `out` to the bools or integers of a row. kInvalidArgument: int64 cannot hold one of them.
absl::Status ReadInts(std::span<const uint8_t> row, const NpyHeader& header,
                      std::vector<int64_t>& out);

// Sets `out` to the floats of a row, of 2, 4 or 8 bytes each. Doubles are rounded to the nearest
// float. kInvalidArgument: a finite number is beyond float.
absl::Status ReadFloats(std::span<const uint8_t> row, uint32_t item_bytes, std::vector<float>& out);

// Returns NumPy's name for the type: "int64", "uint8", "float32", "bool".
std::string DtypeText(const NpyHeader& header);

// Sets `out` to the bool or integers of a row. kInvalidArgument: no float equals one of them.
absl::Status ReadIntsAsFloats(std::span<const uint8_t> row, const NpyHeader& header,
                              std::vector<float>& out);

// Sets `out` to the floats of a row. kInvalidArgument: no int64 equals one of them.
absl::Status ReadFloatsAsInts(std::span<const uint8_t> row, const NpyHeader& header,
                              std::vector<int64_t>& out);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_NUMBER_ROWS_H_
