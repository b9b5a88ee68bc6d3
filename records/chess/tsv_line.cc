#include "records/chess/tsv_line.h"

#include "absl/strings/strip.h"
#include "base/status.h"
#include "records/chess/fen.h"
#include "records/chess/score.h"

namespace penstock::chess {

absl::StatusOr<PackedPosition> ParseTsvLine(absl::string_view line) {
  line = absl::StripSuffix(line, "\r");
  if (line.empty()) return absl::InvalidArgumentError("empty line");
  const size_t tab = line.find('\t');
  if (tab == absl::string_view::npos) {
    return absl::InvalidArgumentError("no tab between FEN and score");
  }
  PENSTOCK_ASSIGN_OR_RETURN(const Position position, ParseFen(line.substr(0, tab)));
  PENSTOCK_ASSIGN_OR_RETURN(const Score score, ParseScore(line.substr(tab + 1)));
  return PackedPosition{EncodePlanes(position, score.mate), score.stored};
}

}  // namespace penstock::chess
