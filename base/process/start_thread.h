// Starts threads, or reports why the system cannot start one.
#ifndef PENSTOCK_BASE_PROCESS_START_THREAD_H_
#define PENSTOCK_BASE_PROCESS_START_THREAD_H_

#include <latch>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Returns kResourceExhausted. The message says what the thread was for, the system's reason, and
// which limits to raise.
absl::Status NoThreadError(absl::string_view what, const std::error_code& reason);

// Runs `run` on a new thread; `run` may accept a std::stop_token. Returns NoThreadError() where
// std::jthread would throw. `what` says in that message what the thread is for. It completes
// "cannot start a thread", for example "that decodes".
template <typename Run>
absl::StatusOr<std::jthread> StartThread(absl::string_view what, Run&& run) {
  try {
    return std::jthread(std::forward<Run>(run));
  } catch (const std::system_error& error) {
    return NoThreadError(what, error.code());
  }
}

// Reserves as many threads as gRPC may start later. The reserved threads do nothing, and end when
// this object is destroyed. Threads that you start meanwhile therefore leave enough for gRPC. gRPC
// starts some threads late, for calls and timers; if it cannot, gRPC 1.51 hangs at shutdown.
class ThreadsOfGrpc {
 public:
  // The number of threads to reserve.
  static size_t Most();
  // kResourceExhausted: the system cannot start that many threads.
  static absl::StatusOr<std::unique_ptr<ThreadsOfGrpc>> Reserve();
  ~ThreadsOfGrpc();

 private:
  ThreadsOfGrpc() = default;

  std::latch end_{1};
  std::vector<std::jthread> threads_;
};

// Call it before gRPC is first used: if gRPC 1.51 cannot start its threads, it hangs without a
// message. OK: the system can start them, and later calls return OK without a check.
absl::Status CheckThreadsOfGrpc();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_START_THREAD_H_
