#include "cli/terminal/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/process/stop_signals.h"
#include "cli/command.h"

namespace penstock {
namespace {

// Global, because a signal handler can only use globals.
StopSignals stop_signals;
int wake_pipe[2] = {-1, -1};

extern "C" void RememberSignal(int number) {
  const int saved_errno = errno;
  if (stop_signals.Receive(number) == StopSignals::Meaning::kStopAtOnce) {
    signal(number, SIG_DFL);
    raise(number);  // Ends the process once this handler returns; until then the signal is blocked.
  }
  if (write(wake_pipe[1], "", 1) < 0) {
    // The pipe is full, hence readable, which is the purpose of the write.
  }
  errno = saved_errno;
}

// Sets the handler of SIGINT, SIGTERM and SIGHUP, as far as they may ask the process to stop.
void HandleWith(void (*handler)(int)) {
  const sigset_t asking = StopSignals::Set();
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (sigismember(&asking, number) == 1) sigaction(number, &action, nullptr);
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_signals.Forget();
  // Without a pipe (no descriptors left), signals do not wake poll(); Check() still works.
  if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) wake_pipe[0] = wake_pipe[1] = -1;
  HandleWith(RememberSignal);
}

InterruptGuard::~InterruptGuard() {
  HandleWith(SIG_DFL);
  stop_signals.Forget();
  for (int& descriptor : wake_pipe) {
    if (descriptor >= 0) close(descriptor);
    descriptor = -1;
  }
}

absl::Status InterruptGuard::Check() {
  const int number = stop_signals.received();
  if (number == 0) return absl::OkStatus();
  absl::Status status =
      absl::CancelledError(absl::StrCat("interrupted by SIG", sigabbrev_np(number)));
  status.SetPayload(kSignalPayload, absl::Cord(absl::StrCat(number)));
  return status;
}

int InterruptGuard::descriptor() { return wake_pipe[0]; }

}  // namespace penstock
