// Ctrl-C, SIGTERM and SIGHUP as a status, so that destructors run: temporary files go, children
// end.
#ifndef PENSTOCK_CLI_TERMINAL_INTERRUPT_H_
#define PENSTOCK_CLI_TERMINAL_INTERRUPT_H_

#include "absl/status/status.h"

namespace penstock {

// While one lives, the first SIGINT, SIGTERM or SIGHUP is only remembered; one that asks to end at
// once (StopSignals) ends the process as usual. Blocking system calls of the thread that receives
// it return EINTR. One at a time. Not thread-safe, except for Check().
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // kCancelled once a signal came, naming it; ExitCode() of it is 128 + the signal's number, as a
  // shell says of a program that died of it. Thread-safe; cheap enough for inner loops.
  static absl::Status Check();

  // A descriptor that is readable for ever once a signal came: poll() it beside others.
  static int descriptor();
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_TERMINAL_INTERRUPT_H_
