// Keeps messages that a stranger can repeat without end from filling the log.
#ifndef PENSTOCK_SERVER_LOG_LIMITER_H_
#define PENSTOCK_SERVER_LOG_LIMITER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace penstock {

// Allows one line of each kind every 10 s. There are few kinds: the program chooses them, never the
// peer. Thread-safe.
class LogLimiter {
 public:
  static constexpr std::chrono::seconds kPause{10};

  // Returns nullopt if the next line must be left out. Otherwise returns the number of lines of
  // this kind that were left out since the last written one.
  std::optional<uint64_t> Allow(absl::string_view kind, std::chrono::steady_clock::time_point now =
                                                            std::chrono::steady_clock::now()) {
    MutexLock lock(&mutex_);
    auto [entry, is_new] = kinds_.try_emplace(std::string(kind), Kind{now, 0});
    if (!is_new && now - entry->second.said < kPause) {
      ++entry->second.left_out;
      return std::nullopt;
    }
    const uint64_t left_out = entry->second.left_out;
    entry->second = {now, 0};
    return left_out;
  }

 private:
  struct Kind {
    std::chrono::steady_clock::time_point said;
    uint64_t left_out = 0;
  };
  Mutex mutex_;
  std::map<std::string, Kind> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_LOG_LIMITER_H_
