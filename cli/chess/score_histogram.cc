#include "cli/chess/score_histogram.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "records/chess/planes.h"

namespace penstock {
namespace {

// Row i < 12 holds scores above kUpTo[i - 1] and at most kUpTo[i]; row 12 holds the rest.
constexpr int64_t kUpTo[] = {-1001, -501, -201, -101, -51, -1, 0, 50, 100, 200, 500, 1000};
constexpr size_t kLastScore = std::size(kUpTo);
constexpr size_t kWhiteMates = kLastScore + 1;
constexpr size_t kBlackMates = kLastScore + 2;
constexpr size_t kZeroMates = kLastScore + 3;
static_assert(kZeroMates + 1 == ScoreHistogram::kNumRows);

constexpr const char* kLabels[ScoreHistogram::kNumRows] = {"below -1000",
                                                           "-1000 to -501",
                                                           "-500 to -201",
                                                           "-200 to -101",
                                                           "-100 to -51",
                                                           "-50 to -1",
                                                           "0",
                                                           "1 to 50",
                                                           "51 to 100",
                                                           "101 to 200",
                                                           "201 to 500",
                                                           "501 to 1000",
                                                           "above 1000",
                                                           "White mates",
                                                           "Black mates",
                                                           "mates stored as 0"};

size_t RowOf(bool mate, int64_t s) {
  if (mate) return s == 0 ? kZeroMates : s > 0 ? kWhiteMates : kBlackMates;
  return static_cast<size_t>(std::lower_bound(std::begin(kUpTo), std::end(kUpTo), s) -
                             std::begin(kUpTo));
}

}  // namespace

void ScoreHistogram::Add(std::span<const uint8_t> d, int64_t s) {
  ++counts_[RowOf(chess::TestBit(d, chess::kMateBit), s)];
  ++total_;
}

std::array<ScoreHistogram::Row, ScoreHistogram::kNumRows> ScoreHistogram::rows() const {
  std::array<Row, kNumRows> rows;
  for (size_t i = 0; i < kNumRows; ++i) rows[i] = {kLabels[i], counts_[i]};
  return rows;
}

std::string ScoreHistogram::ToText() const {
  constexpr uint64_t kWidth = 40;
  const uint64_t largest = std::max<uint64_t>(1, *std::max_element(counts_.begin(), counts_.end()));
  std::string text;
  for (const Row& row : rows()) {
    const uint64_t width = (row.count * kWidth + largest - 1) / largest;
    absl::StrAppend(&text, absl::StrFormat("  %-17s %10d", row.label, row.count),
                    width > 0 ? " " : "", std::string(width, '#'), "\n");
  }
  return text;
}

}  // namespace penstock
