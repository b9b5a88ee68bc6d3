// What signals that ask a program to stop mean.
#ifndef PENSTOCK_BASE_PROCESS_STOP_SIGNALS_H_
#define PENSTOCK_BASE_PROCESS_STOP_SIGNALS_H_

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace penstock {

// The first one asks the program to end well. A second one, for which nobody has patience any
// more, asks it to end at once, unless less than a second has passed: timeout(1) signals its child
// and then its group, the child among it. SIGUSR1, Slurm's wish, is never the second; nor the first
// of two: what follows it is a first one of its own. Thread-safe, and safe in signal handlers.
class StopSignals {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Meaning { kNothing, kStop, kStopAtOnce };

  static constexpr std::chrono::milliseconds kOneRequest{1000};

  // SIGINT, SIGTERM, SIGUSR1, and SIGHUP unless it is ignored, as under nohup(1).
  static sigset_t Set();

  Meaning Receive(int number, Clock::time_point now = Clock::now());

  // The last one that was kStop; 0: none.
  int received() const { return static_cast<int>(first_.load() & 0xff); }
  void Forget() { first_ = 0; }

 private:
  std::atomic<int64_t> first_{0};  // Milliseconds << 8 | its number, changed as one.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_STOP_SIGNALS_H_
