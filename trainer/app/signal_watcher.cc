#include "trainer/app/signal_watcher.h"

#include <semaphore.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace penstock {
namespace {

// A handler can reach nothing but globals. Handlers and not sigwait(): libraries start threads
// before main(), and those have the signals unblocked.
//
// Threads that compute have them blocked: GEMM kernels made at run time keep data below the stack
// pointer, where a signal's frame overwrites it. Seen as a corrupt heap in one run of four.
std::atomic<int> received_signal{0};
sem_t wake;

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  return signals;
}

extern "C" void RememberSignal(int number) {
  const int saved_errno = errno;
  int seen = 0;
  // SIGUSR1 never counts as the second signal, nor as the first of two.
  if (!received_signal.compare_exchange_strong(seen, number) && number != SIGUSR1 &&
      !(seen == SIGUSR1 && received_signal.compare_exchange_strong(seen, number))) {
    _exit(128 + number);
  }
  sem_post(&wake);
  errno = saved_errno;
}

}  // namespace

SignalWatcher::SignalWatcher(std::function<void()> on_signal) : on_signal_(std::move(on_signal)) {
  received_signal = 0;
  sem_init(&wake, /*pshared=*/0, 0);
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, &old_mask_);
  thread_ = std::jthread([this] { Watch(); });
  struct sigaction action = {};
  action.sa_handler = RememberSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
  sigaction(SIGUSR1, &action, &old_usr1_);
}

SignalWatcher::~SignalWatcher() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
  sigaction(SIGUSR1, &old_usr1_, nullptr);
  closing_ = true;
  sem_post(&wake);
  thread_.join();
  sem_destroy(&wake);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

int SignalWatcher::received() const { return received_signal.load(); }

void SignalWatcher::Watch() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  for (bool called = false; !closing_;) {
    while (sem_wait(&wake) != 0 && errno == EINTR) {
    }
    if (called || received_signal == 0) continue;
    called = true;
    on_signal_();
  }
}

}  // namespace penstock
