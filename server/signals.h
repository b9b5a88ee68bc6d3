// SIGTERM and SIGINT, handled on a thread.
#ifndef PENSTOCK_SERVER_SIGNALS_H_
#define PENSTOCK_SERVER_SIGNALS_H_

#include <csignal>
#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "records/io/unique_fd.h"

namespace penstock {

// Keeps SIGTERM and SIGINT from ending the process. Call it before any thread is started: threads
// inherit it.
void BlockEndSignals();

// Calls `handle(signal)` on its own thread for each blocked signal that arrives. The destructor
// returns when no call can follow. Not thread-safe.
class SignalThread {
 public:
  explicit SignalThread(std::function<void(int)> handle);
  ~SignalThread();

 private:
  void Run();

  const std::function<void(int)> handle_;
  UniqueFd signals_;
  UniqueFd end_;  // Readable once the destructor has begun.
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SIGNALS_H_
