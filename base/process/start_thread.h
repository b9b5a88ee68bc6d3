// A thread, or why the system starts none.
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

// kResourceExhausted: what the thread was for, the system's reason, and which limits to raise.
absl::Status NoThreadError(absl::string_view what, const std::error_code& reason);

// Runs `run` on a thread of its own; it may take a std::stop_token. `what` goes on with "no
// thread": "that decodes". std::jthread throws where the system starts no more threads.
template <typename Run>
absl::StatusOr<std::jthread> StartThread(absl::string_view what, Run&& run) {
  try {
    return std::jthread(std::forward<Run>(run));
  } catch (const std::system_error& error) {
    return NoThreadError(what, error.code());
  }
}

// As many threads as gRPC may come to start. They do nothing, and end with this: what is started
// beside them leaves gRPC its own. It starts some late, when calls and timers come, and where it
// cannot, gRPC 1.51 hangs when it is shut down.
class ThreadsOfGrpc {
 public:
  // How many those are.
  static size_t Most();
  // kResourceExhausted: there are not so many.
  static absl::StatusOr<std::unique_ptr<ThreadsOfGrpc>> Reserve();
  ~ThreadsOfGrpc();

 private:
  ThreadsOfGrpc() = default;

  std::latch end_{1};
  std::vector<std::jthread> threads_;
};

// To be called before gRPC is first used: where gRPC 1.51 cannot start its threads it hangs, and
// says nothing. OK: it could start them now, and has them from then on.
absl::Status CheckThreadsOfGrpc();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_START_THREAD_H_
