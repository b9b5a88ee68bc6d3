// Interprets the signals that ask a program to stop.
#ifndef PENSTOCK_BASE_PROCESS_STOP_SIGNALS_H_
#define PENSTOCK_BASE_PROCESS_STOP_SIGNALS_H_

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace penstock {

// The first signal asks the program to end in an orderly way. A second signal asks it to end at
// once, because the sender has lost patience. A second signal within a second of the first is
// ignored, because timeout(1) signals its child and then its group, which includes the child.
// SIGUSR1, which Slurm sends as an early warning, never counts as a second signal. A signal that
// follows a SIGUSR1 counts as a first one.
// Thread-safe, and safe in signal handlers.
class StopSignals {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Meaning { kNothing, kStop, kStopAtOnce };

  // Signals within this time are one request.
  static constexpr std::chrono::milliseconds kOneRequest{1000};

  // Returns SIGINT, SIGTERM and SIGUSR1, and also SIGHUP unless it is ignored, as under nohup(1).
  static sigset_t Set();

  // Call it for each signal `number` that arrives. Returns what the program must do.
  Meaning Receive(int number, Clock::time_point now = Clock::now());

  // The last signal that meant kStop; 0 if there was none.
  int received() const { return static_cast<int>(first_.load() & 0xff); }
  void Forget() { first_ = 0; }

 private:
  std::atomic<int64_t> first_{0};  // Milliseconds << 8 | signal number, changed together.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_STOP_SIGNALS_H_
