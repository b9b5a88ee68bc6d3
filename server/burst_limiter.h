// Lets a burst of lines into the log, and keeps a loop out of it.
#ifndef PENSTOCK_SERVER_BURST_LIMITER_H_
#define PENSTOCK_SERVER_BURST_LIMITER_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace penstock {

// Each host has an allowance of lines, and all hosts together have another. A line that was written
// returns to its host's allowance after kPauseOfHost, and to the common one after kPause; lines
// return one after the other. So a host that loops does not hide the lines of others, and many
// hosts that loop do not fill the log. Thread-safe.
class BurstLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPauseOfHost{10};
  static constexpr std::chrono::seconds kPause{1};

  BurstLimiter(int lines_of_host, int lines)
      : burst_of_host_(lines_of_host * kPauseOfHost), burst_(lines * kPause) {}

  // Returns nullopt if the next line must be left out. Otherwise returns the number of lines of all
  // hosts that were left out since the last written one.
  std::optional<uint64_t> Allow(const std::string& host, Clock::time_point now = Clock::now()) {
    MutexLock lock(&mutex_);
    const auto found = hosts_.find(host);
    const Clock::time_point of_host =
        (found == hosts_.end() ? now : std::max(found->second, now)) + kPauseOfHost;
    const Clock::time_point of_all = std::max(all_, now) + kPause;
    if (of_host > now + burst_of_host_ || of_all > now + burst_) {
      ++left_out_;
      return std::nullopt;
    }
    // Hosts whose allowance is whole need no entry. So there are no more entries than lines in the
    // time in which an empty allowance becomes whole.
    std::erase_if(hosts_, [now](const auto& entry) { return entry.second <= now; });
    hosts_.insert_or_assign(host, of_host);
    all_ = of_all;
    return std::exchange(left_out_, 0);
  }

 private:
  const Clock::duration burst_of_host_;
  const Clock::duration burst_;
  Mutex mutex_;
  // The time at which each host's allowance is whole again.
  std::map<std::string, Clock::time_point> hosts_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point all_ ABSL_GUARDED_BY(mutex_);
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_BURST_LIMITER_H_
