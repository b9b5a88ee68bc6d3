#include "server/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/process/start_thread.h"
#include "base/process/stop_signals.h"
#include "base/status.h"

namespace penstock {

namespace {

void End(int number) {
  if (number != SIGUSR1) _exit(128 + number);
}

}  // namespace

void EndAtSignals() {
  struct sigaction action = {};
  action.sa_handler = End;
  action.sa_flags = SA_RESTART;
  const sigset_t set = StopSignals::Set();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    if (sigismember(&set, number) == 1) sigaction(number, &action, nullptr);
  }
}

void BlockEndSignals() {
  const sigset_t set = StopSignals::Set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

absl::StatusOr<std::unique_ptr<SignalThread>> SignalThread::Start(std::function<void(int)> handle) {
  std::unique_ptr<SignalThread> signals(new SignalThread(std::move(handle)));
  PENSTOCK_ASSIGN_OR_RETURN(
      signals->thread_, StartThread("that waits for signals", [it = signals.get()] { it->Run(); }));
  return signals;
}

SignalThread::SignalThread(std::function<void(int)> handle) : handle_(std::move(handle)) {
  const sigset_t set = StopSignals::Set();
  signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC));
  end_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
}

SignalThread::~SignalThread() {
  eventfd_write(end_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void SignalThread::Run() {
  pollfd fds[] = {{end_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  while (true) {
    if (poll(fds, 2, -1) < 0) continue;  // EINTR.
    if (fds[0].revents != 0) return;
    signalfd_siginfo info;
    if (read(signals_.get(), &info, sizeof info) == sizeof info) {
      handle_(static_cast<int>(info.ssi_signo));
    }
  }
}

}  // namespace penstock
