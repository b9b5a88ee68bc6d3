#include "server/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace penstock {
namespace {

sigset_t EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void BlockEndSignals() {
  sigset_t set = EndSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalThread::SignalThread(std::function<void(int)> handle) : handle_(std::move(handle)) {
  sigset_t set = EndSignals();
  signals_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC));
  end_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  thread_ = std::jthread([this] { Run(); });
}

SignalThread::~SignalThread() {
  eventfd_write(end_.get(), 1);
  thread_.join();
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
