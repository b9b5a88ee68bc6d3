#include "records/chess/score.h"

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock::chess {
namespace {

constexpr int64_t kMaxMagnitude = 1'000'000;

absl::Status BadScore(absl::string_view text, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("score '", absl::CHexEscape(text.substr(0, 40)), "' ", reason,
                   "; expected centipawns such as +36, -68, 0 or a mate such as #+5, #-3, #+0"));
}

}  // namespace

absl::StatusOr<Score> ParseScore(absl::string_view text) {
  absl::string_view rest = text;
  const bool mate = absl::ConsumePrefix(&rest, "#");
  const bool negative = absl::ConsumePrefix(&rest, "-");
  const bool has_sign = negative || absl::ConsumePrefix(&rest, "+");
  if (mate && !has_sign) return BadScore(text, "does not say which side mates");
  if (rest.empty()) return BadScore(text, "has no digits");
  if (rest.size() > 16) return BadScore(text, "is too long");
  int64_t magnitude = 0;
  for (char c : rest) {
    if (!absl::ascii_isdigit(c)) return BadScore(text, "is not a number");
    magnitude = 10 * magnitude + (c - '0');
    if (magnitude > kMaxMagnitude) return BadScore(text, "is above 1000000");
  }
  if (mate) ++magnitude;
  return Score{mate, negative ? -magnitude : magnitude};
}

std::string FormatScore(const Score& score) {
  if (score.mate && score.stored == 0) return "#?";
  const char* sign = score.stored < 0 ? "-" : score.stored > 0 ? "+" : "";
  // Unsigned, because the magnitude of INT64_MIN does not fit into an int64.
  uint64_t magnitude = static_cast<uint64_t>(score.stored);
  if (score.stored < 0) magnitude = -magnitude;
  return absl::StrCat(score.mate ? "#" : "", sign, score.mate ? magnitude - 1 : magnitude);
}

}  // namespace penstock::chess
