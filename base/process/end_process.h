// Ends a process that may be unable to end by itself.
#ifndef PENSTOCK_BASE_PROCESS_END_PROCESS_H_
#define PENSTOCK_BASE_PROCESS_END_PROCESS_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace penstock {

// If the process has not ended within `limit`, prints `message` on stderr and ends the process with
// exit code 1. Destructors do not run, because they may be what hangs. If no thread can be started
// for this, prints and ends at once. Thread-safe.
void EndProcessWithin(absl::Duration limit, const std::string& message);

// As EndProcessWithin(), for a process that may be unable to start a thread when it has to end:
// here the thread exists from the start. Objects live as long as the process. Thread-safe.
class LastThread {
 public:
  // Reporting may hang too. The process then ends this many seconds later.
  static constexpr unsigned kSecondsToSayWhy = 2;

  // `say` is called with what the process was doing when it hung. kResourceExhausted: no thread
  // could be started.
  static absl::StatusOr<LastThread*> Start(int exit_code,
                                           std::function<void(const std::string& doing)> say);

  // Records what the process is doing from here on.
  void Doing(absl::string_view what);
  // If the process has not ended within `limit`, reports what it is doing and ends it. If this is
  // called several times, the earliest deadline counts.
  void EndWithin(absl::Duration limit);

 private:
  LastThread(int exit_code, std::function<void(const std::string& doing)> say);
  void Run();
  // Waits until the deadline, then returns what the process is doing.
  std::string WaitForDeadline();

  const int exit_code_;
  const std::function<void(const std::string&)> say_;
  Mutex mutex_;
  CondVar changed_;
  std::string doing_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::chrono::steady_clock::time_point> deadline_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_END_PROCESS_H_
