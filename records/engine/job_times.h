// Measures what the engine's threads spend their time on.
#ifndef PENSTOCK_RECORDS_ENGINE_JOB_TIMES_H_
#define PENSTOCK_RECORDS_ENGINE_JOB_TIMES_H_

#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "records/engine/job.h"

namespace penstock {

// Time by activity, summed over the threads. Updated once per job (tens of microseconds of work).
// Thread-safe.
class JobTimes {
 public:
  using Clock = std::chrono::steady_clock;
  enum Activity { kLoad, kBuild, kDecode, kSend, kRead, kNumActivities };

  static Activity ActivityOf(Job::Kind kind) {
    switch (kind) {
      case Job::Kind::kLoad:
        return kLoad;
      case Job::Kind::kBuild:
        return kBuild;
      case Job::Kind::kDecode:
        return kDecode;
      case Job::Kind::kRefuseWindow:
      case Job::Kind::kRefuseRequest:
        break;
    }
    return kSend;
  }

  // Returns the processor time of this thread, in nanoseconds.
  static uint64_t ThreadTime() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  }

  void Add(Activity activity, Clock::duration time) {
    times_[activity].fetch_add(time.count(), std::memory_order_relaxed);
  }
  double seconds(Activity activity) const {
    return std::chrono::duration<double>(
               Clock::duration(times_[activity].load(std::memory_order_relaxed)))
        .count();
  }

 private:
  std::array<std::atomic<Clock::rep>, kNumActivities> times_{};
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_TIMES_H_
