// SIGINT, SIGTERM and SIGUSR1 as a request to stop, so that the step in progress is finished and
// saved.
#ifndef PENSTOCK_TRAINER_APP_SIGNAL_WATCHER_H_
#define PENSTOCK_TRAINER_APP_SIGNAL_WATCHER_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace penstock {

// While one lives, the first signal calls `on_signal` on a thread of its own; a second one ends
// the process at once with 128 + its number. SIGUSR1 is what srun passes on of a wish to end, and
// what Slurm's --signal=USR1@120 sends, perhaps beside a SIGTERM: it ends nothing at once. Signals
// are blocked in the thread that makes it and in those that this one starts meanwhile. One at a
// time. received() is thread-safe.
class SignalWatcher {
 public:
  explicit SignalWatcher(std::function<void()> on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  // The first signal's number; 0: none came.
  int received() const;

 private:
  void Watch();

  std::function<void()> on_signal_;
  std::atomic<bool> closing_{false};
  sigset_t old_mask_ = {};
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
  struct sigaction old_usr1_ = {};
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SIGNAL_WATCHER_H_
