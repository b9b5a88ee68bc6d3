// How long servers took lately.
#ifndef PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_
#define PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/time/time.h"

namespace penstock {

// What is usual among servers: the median over them of the longest of the last 16 samples of each.
// Were they alike, it would be the 96th percentile of all samples; but while fewer than half of
// them are slow, these do not raise it, however much each of them answers. Not thread-safe.
class AnswerTimes {
 public:
  static constexpr absl::Duration kLeftOut = -absl::InfiniteDuration();

  // `bytes`: of the records that were asked for.
  void Add(uint32_t server, uint64_t bytes, absl::Duration time);
  // It is no measure any more.
  void Forget(uint32_t server);
  size_t count() const { return count_; }
  // Whether it has a sample of it.
  bool Knows(uint32_t server) const;
  // The time for as many bytes as samples have on average, or in proportion for more. With two
  // servers it is that of the faster one. Brought up to date by every eighth sample, or more seldom
  // if there are many servers; 0 without samples.
  absl::Duration Usual(uint64_t bytes) const;
  // The same where server i is known to need at least ages[i] for what it has not answered yet, or
  // is left out.
  absl::Duration Usual(uint64_t bytes, std::span<const absl::Duration> ages);

 private:
  struct Recent {
    std::array<absl::Duration, 16> ring;
    size_t count = 0;  // Of all samples so far.
    absl::Duration Longest() const;
  };
  absl::Duration Median(std::span<const absl::Duration> ages);
  absl::Duration Scaled(absl::Duration time, uint64_t bytes) const;

  std::vector<Recent> servers_;
  std::vector<absl::Duration> longest_;  // Scratch.
  size_t count_ = 0;
  size_t refresh_at_ = 1;
  absl::Duration usual_;
  double mean_bytes_ = 0;  // Of about the last 64 samples.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_
