#include "base/process/stop_signals.h"

namespace penstock {

static_assert(std::atomic<int64_t>::is_always_lock_free, "signal handlers may take no lock");

sigset_t StopSignals::Set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, number);
  struct sigaction hang_up = {};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

StopSignals::Meaning StopSignals::Receive(int number, Clock::time_point now) {
  const int64_t milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const int64_t request = milliseconds << 8 | number;
  int64_t first = 0;
  if (first_.compare_exchange_strong(first, request)) return Meaning::kStop;
  if (number == SIGUSR1) return Meaning::kNothing;
  if ((first & 0xff) == SIGUSR1 && first_.compare_exchange_strong(first, request)) {
    return Meaning::kStop;
  }
  return milliseconds - (first >> 8) < kOneRequest.count() ? Meaning::kNothing
                                                           : Meaning::kStopAtOnce;
}

}  // namespace penstock
