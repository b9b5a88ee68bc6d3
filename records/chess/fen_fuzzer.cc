// For any text, ParseTsvLine() and ParseFen() must return. A position that is accepted must survive
// a round trip and encode, and all its legal moves must lead to positions that are accepted too.
#include <cstdint>
#include <cstdlib>

#include "records/chess/fen.h"
#include "records/chess/moves.h"
#include "records/chess/tsv_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::chess;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ParseTsvLine(text);  // Must only return.
  const absl::StatusOr<Position> position = ParseFen(text);
  if (!position.ok()) return 0;
  const absl::StatusOr<Position> again = ParseFen(FormatFen(*position));
  if (!again.ok() || *again != *position) std::abort();
  EncodePlanes(*position, /*mate=*/false);
  for (const Move& move : LegalMoves(*position)) {
    const Position next = Play(*position, move);
    if (next.halfmove_clock < 9999 && next.fullmove_number < 9999 &&
        !ParseFen(FormatFen(next)).ok()) {
      std::abort();
    }
  }
  return 0;
}
