// Reports Ctrl-C, SIGTERM and SIGHUP as a status, so that destructors run: they remove temporary
// files and end children.
#ifndef PENSTOCK_CLI_TERMINAL_INTERRUPT_H_
#define PENSTOCK_CLI_TERMINAL_INTERRUPT_H_

#include "absl/status/status.h"

namespace penstock {

// While an object of this class lives, the first SIGINT, SIGTERM or SIGHUP is only remembered. A
// signal that asks to stop at once (StopSignals) ends the process as usual. Blocking system calls
// of the thread that receives the signal return EINTR. Only one object may live at a time. Not
// thread-safe, except for Check().
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // kCancelled: a signal came; the message names it. ExitCode() of the status is 128 + the signal's
  // number, as shells report it. Thread-safe; cheap enough for inner loops.
  static absl::Status Check();

  // Returns a descriptor that stays readable once a signal came: poll() it beside others.
  static int descriptor();
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_TERMINAL_INTERRUPT_H_
