// Shows a chess record as text.
#ifndef PENSTOCK_CLI_DATA_BOARD_TEXT_H_
#define PENSTOCK_CLI_DATA_BOARD_TEXT_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

// Draws the board with rank 8 on top ('.' empty, '?' if the bits claim two pieces), the number of
// squares that each plane marks, the flags that are set, and the score. Lines end with '\n'. Any
// bits can be drawn. kInvalidArgument: `d` is not 194 bytes.
absl::StatusOr<std::string> DrawBoard(std::span<const uint8_t> d, int64_t s);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_BOARD_TEXT_H_
