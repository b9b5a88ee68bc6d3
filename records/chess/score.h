// An evaluation from White's point of view, as text and as it is stored.
#ifndef PENSTOCK_RECORDS_CHESS_SCORE_H_
#define PENSTOCK_RECORDS_CHESS_SCORE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock::chess {

// `stored` is the record's feature `s`. It is in centipawns, or, for a mate, the sign of the winner
// (+ is White) times (moves to mate + 1), hence never 0. `mate` is the record's mate bit.
struct Score {
  bool mate = false;
  int64_t stored = 0;
  friend bool operator==(const Score&, const Score&) = default;
};

// Parses "+36", "-68" or "0" (centipawns), "#+5" or "#-3" (mate in 5 by White, in 3 by Black), and
// "#+0" or "#-0" (mate on the board). The sign of a mate is the winner's and must be there.
// Magnitudes are at most 1,000,000. Returns kInvalidArgument for any other text.
absl::StatusOr<Score> ParseScore(absl::string_view text);

// ParseScore(FormatScore(s)) == s. A mate stored as 0, which ParseScore() never returns, becomes
// "#?".
std::string FormatScore(const Score& score);

}  // namespace penstock::chess

#endif  // PENSTOCK_RECORDS_CHESS_SCORE_H_
