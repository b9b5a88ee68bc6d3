#include "cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"

namespace penstock {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<int> received_signal{0};
int wake_pipe[2] = {-1, -1};

extern "C" void RememberSignal(int number) {
  const int saved_errno = errno;
  received_signal.store(number, std::memory_order_relaxed);
  if (write(wake_pipe[1], "", 1) < 0) {
    // The pipe is full, hence readable: all that the write is for.
  }
  errno = saved_errno;
}

void Handle(int number) {
  struct sigaction action = {};
  action.sa_handler = RememberSignal;
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received_signal = 0;
  // Without a pipe (no descriptors left) only poll() is not woken; Check() still works.
  if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) wake_pipe[0] = wake_pipe[1] = -1;
  Handle(SIGINT);
  Handle(SIGTERM);
}

InterruptGuard::~InterruptGuard() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  received_signal = 0;
  for (int& descriptor : wake_pipe) {
    if (descriptor >= 0) close(descriptor);
    descriptor = -1;
  }
}

absl::Status InterruptGuard::Check() {
  const int number = received_signal.load(std::memory_order_relaxed);
  if (number == 0) return absl::OkStatus();
  absl::Status status = absl::CancelledError(
      absl::StrCat("interrupted by ", number == SIGINT ? "SIGINT" : "SIGTERM"));
  status.SetPayload(kSignalPayload, absl::Cord(absl::StrCat(number)));
  return status;
}

int InterruptGuard::descriptor() { return wake_pipe[0]; }

}  // namespace penstock
