// How long servers took lately.
#ifndef PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_
#define PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_

#include <cstddef>
#include <vector>

#include "absl/time/time.h"

namespace penstock {

// The 95th percentile of the last samples. Takes memory once. Not thread-safe.
class AnswerTimes {
 public:
  // REQUIRES: samples > 0.
  explicit AnswerTimes(size_t samples) : ring_(samples), sorted_(samples) {}

  void Add(absl::Duration time);
  size_t count() const { return count_; }
  // Brought up to date by every eighth sample; 0 without samples.
  absl::Duration p95() const { return p95_; }

 private:
  void Refresh();

  std::vector<absl::Duration> ring_;
  std::vector<absl::Duration> sorted_;  // Scratch.
  size_t count_ = 0;                    // Of all samples so far.
  absl::Duration p95_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_
