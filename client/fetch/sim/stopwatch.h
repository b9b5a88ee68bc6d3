// Measures the time of a piece of code, without the calls that it makes into other code.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_STOPWATCH_H_
#define PENSTOCK_CLIENT_FETCH_SIM_STOPWATCH_H_

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace penstock::sim {

// Measures processor time of this thread, so that other work of the machine hardly counts. It first
// measures how long reading that clock takes, and subtracts this. Not thread-safe.
class Stopwatch {
 public:
  // Runs or pauses the stopwatch until the end of a scope. Then it does the opposite.
  class Scope {
   public:
    Scope(Stopwatch& watch, bool run) : watch_(watch), run_(run) { watch_.Turn(run_); }
    ~Scope() { watch_.Turn(!run_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stopwatch& watch_;
    const bool run_;
  };

  // If `on` is false, it measures nothing and costs almost nothing.
  explicit Stopwatch(bool on) : on_(on) {
    if (on_) Calibrate();
  }
  std::chrono::nanoseconds total() const {
    return std::chrono::nanoseconds(std::max<int64_t>(0, total_ - intervals_ * cost_));
  }

 private:
  static int64_t Now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }

  void Turn(bool run) {
    if (!on_) return;
    const int64_t now = Now();
    if (!run) {
      total_ += now - since_;
      ++intervals_;
    }
    since_ = now;
  }

  void Calibrate() {
    cost_ = 1'000'000;
    for (int i = 0; i < 1'000; ++i) {
      const int64_t start = Now();
      cost_ = std::min(cost_, Now() - start);
    }
  }

  const bool on_;
  int64_t cost_ = 0;       // Minimum time for one reading of the clock, in nanoseconds.
  int64_t total_ = 0;      // Sum of all intervals, in nanoseconds.
  int64_t intervals_ = 0;  // Number of intervals in total_.
  int64_t since_ = 0;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_STOPWATCH_H_
