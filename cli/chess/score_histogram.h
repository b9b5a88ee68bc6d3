// Counts how the scores of chess records are distributed.
#ifndef PENSTOCK_CLI_CHESS_SCORE_HISTOGRAM_H_
#define PENSTOCK_CLI_CHESS_SCORE_HISTOGRAM_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

// Counts values of the feature `s`: centipawns from White's view by range, mates by winner, and
// mates stored as 0, which a decoder turns into the label of a draw. Not thread-safe.
class ScoreHistogram {
 public:
  // REQUIRES: `d` has 194 bytes.
  void Add(std::span<const uint8_t> d, int64_t s);

  struct Row {
    std::string label;
    uint64_t count;
  };
  static constexpr size_t kNumRows = 16;
  std::array<Row, kNumRows> rows() const;
  uint64_t total() const { return total_; }
  uint64_t mates_stored_as_zero() const { return counts_[kNumRows - 1]; }

  // Returns the histogram as text: one line for each row, with a bar.
  std::string ToText() const;

 private:
  std::array<uint64_t, kNumRows> counts_ = {};
  uint64_t total_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_CHESS_SCORE_HISTOGRAM_H_
