// Treats SIGINT, SIGTERM, SIGHUP and SIGUSR1 as requests to stop, so that the step in progress is
// finished and saved.
#ifndef PENSTOCK_TRAINER_APP_SIGNAL_WATCHER_H_
#define PENSTOCK_TRAINER_APP_SIGNAL_WATCHER_H_

#include <signal.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"

namespace penstock {

// While an object of this class exists, the first signal calls `on_signal` on a separate thread. A
// later signal that asks to end at once (StopSignals) ends the process with 128 + its number. srun
// forwards a request to end as SIGUSR1, and Slurm's --signal=USR1@120 sends it, perhaps together
// with SIGTERM. Signals are blocked in the constructing thread and in the threads that it starts
// meanwhile. Only one may exist at a time. received() is thread-safe.
class SignalWatcher {
 public:
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<SignalWatcher>> Start(std::function<void()> on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  // The number of the first signal; 0 if none came.
  int received() const;

 private:
  explicit SignalWatcher(std::function<void()> on_signal);
  void Watch();

  std::function<void()> on_signal_;
  const sigset_t signals_;
  std::atomic<bool> closing_{false};
  sigset_t old_mask_ = {};
  std::map<int, struct sigaction> old_;
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SIGNAL_WATCHER_H_
