// One line of a chess-tsv file: FEN, a tab, a score.
#ifndef PENSTOCK_RECORDS_CHESS_TSV_LINE_H_
#define PENSTOCK_RECORDS_CHESS_TSV_LINE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/chess/planes.h"

namespace penstock::chess {

// What a record holds; 202 bytes of content.
struct PackedPosition {
  PlaneBytes d;
  int64_t s;
};

// `line` is without its newline; one '\r' at the end is ignored. kInvalidArgument says what is
// wrong with which part.
absl::StatusOr<PackedPosition> ParseTsvLine(absl::string_view line);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_TSV_LINE_H_
