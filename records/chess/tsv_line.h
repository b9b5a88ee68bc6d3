// Parses a line of a chess-tsv file: a FEN, a tab and a score.
#ifndef PENSTOCK_RECORDS_CHESS_TSV_LINE_H_
#define PENSTOCK_RECORDS_CHESS_TSV_LINE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/chess/planes.h"

namespace penstock::chess {

// The content of a chess record: 202 bytes.
struct PackedPosition {
  PlaneBytes d;
  int64_t s;
};

// `line` has no line feed; one '\r' at the end is ignored. Returns kInvalidArgument if the line is
// wrong. The message says which part is wrong, and why.
absl::StatusOr<PackedPosition> ParseTsvLine(absl::string_view line);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_TSV_LINE_H_
