// Handles signals that ask to stop, on a thread.
#ifndef PENSTOCK_SERVER_SIGNALS_H_
#define PENSTOCK_SERVER_SIGNALS_H_

#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Until BlockEndSignals(), makes the signals of StopSignals::Set() end the process with exit code
// 128 + their number, instead of killing it, just as these signals do later in a start. So a start
// that hangs can be ended. SIGUSR1 has no effect. Call it first.
void EndAtSignals();

// Keeps the signals of StopSignals::Set() from ending the process. Call it before any thread is
// started, because threads inherit it.
void BlockEndSignals();

// Calls `handle(signal)` on its own thread for each blocked signal that arrives. After the
// destructor has returned, `handle` is not called. Not thread-safe.
class SignalThread {
 public:
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<SignalThread>> Start(std::function<void(int)> handle);
  ~SignalThread();

 private:
  explicit SignalThread(std::function<void(int)> handle);
  void Run();

  const std::function<void(int)> handle_;
  UniqueFd signals_;
  UniqueFd end_;  // Readable once the destructor has begun.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SIGNALS_H_
