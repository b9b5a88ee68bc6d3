// Measures how long servers took recently.
#ifndef PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_
#define PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/time/time.h"

namespace penstock {

// Computes the usual time of servers: the median over the servers of the longest of each one's last
// 16 samples. If all servers are alike, it is the 96th percentile of all samples. While fewer than
// half of the servers are slow, they do not raise it, however much they answer. Not thread-safe.
class AnswerTimes {
 public:
  static constexpr absl::Duration kLeftOut = -absl::InfiniteDuration();

  // Adds a sample: a request for records of `bytes` bytes took `time`.
  void Add(uint32_t server, uint64_t bytes, absl::Duration time);
  // Drops the server's samples.
  void Forget(uint32_t server);
  size_t count() const { return count_; }
  // Whether there is a sample of the server.
  bool Knows(uint32_t server) const;
  // Returns the usual time for a request of `bytes` bytes. Samples give the usual time for their
  // mean size; a larger request gets more time in proportion. With two servers it is the time of
  // the faster one. It is recomputed at every eighth sample, or less often if there are many
  // servers. It is 0 before the first sample.
  absl::Duration Usual(uint64_t bytes) const;
  // Returns the usual time if server i needs at least ages[i] for a request that it has not
  // answered yet. A server whose age is kLeftOut does not count.
  absl::Duration Usual(uint64_t bytes, std::span<const absl::Duration> ages);

 private:
  struct Recent {
    std::array<absl::Duration, 16> ring;
    size_t count = 0;  // Number of samples so far.
    absl::Duration Longest() const;
  };
  absl::Duration Median(std::span<const absl::Duration> ages);
  absl::Duration Scaled(absl::Duration time, uint64_t bytes) const;

  std::vector<Recent> servers_;
  std::vector<absl::Duration> longest_;  // Scratch.
  size_t count_ = 0;
  size_t refresh_at_ = 1;
  absl::Duration usual_;
  double mean_bytes_ = 0;  // The mean of about the last 64 samples.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_ANSWER_TIMES_H_
