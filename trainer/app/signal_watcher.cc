#include "trainer/app/signal_watcher.h"

#include <semaphore.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/stop_signals.h"
#include "base/status.h"

namespace penstock {
namespace {

// A handler can only reach globals. Handlers are used instead of sigwait() because libraries start
// threads before main(), and those have the signals unblocked.
//
// Threads that compute have the signals blocked: GEMM kernels generated at run time keep data below
// the stack pointer, where a signal's frame overwrites it. This corrupted the heap in one run of
// four.
StopSignals stop_signals;
sem_t wake;

extern "C" void RememberSignal(int number) {
  const int saved_errno = errno;
  if (stop_signals.Receive(number) == StopSignals::Meaning::kStopAtOnce) _exit(128 + number);
  sem_post(&wake);
  errno = saved_errno;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SignalWatcher>> SignalWatcher::Start(
    std::function<void()> on_signal) {
  std::unique_ptr<SignalWatcher> watcher(new SignalWatcher(std::move(on_signal)));
  PENSTOCK_ASSIGN_OR_RETURN(watcher->thread_, StartThread("that waits for signals",
                                                          [it = watcher.get()] { it->Watch(); }));
  return watcher;
}

SignalWatcher::SignalWatcher(std::function<void()> on_signal)
    : on_signal_(std::move(on_signal)), signals_(StopSignals::Set()) {
  stop_signals.Forget();
  sem_init(&wake, /*pshared=*/0, 0);
  pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
  struct sigaction action = {};
  action.sa_handler = RememberSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    if (sigismember(&signals_, number) == 1) sigaction(number, &action, &old_[number]);
  }
}

SignalWatcher::~SignalWatcher() {
  for (const auto& [number, action] : old_) sigaction(number, &action, nullptr);
  closing_ = true;
  sem_post(&wake);
  if (thread_.joinable()) thread_.join();
  sem_destroy(&wake);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

int SignalWatcher::received() const { return stop_signals.received(); }

void SignalWatcher::Watch() {
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  for (bool called = false; !closing_;) {
    while (sem_wait(&wake) != 0 && errno == EINTR) {
    }
    if (called || stop_signals.received() == 0) continue;
    called = true;
    on_signal_();
  }
}

}  // namespace penstock
