// The end of a process that may not be able to end by itself.
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

// Unless the process has ended within `limit`, prints `message` on stderr and ends it with code 1,
// without destructors: whatever they wait for. Thread-safe.
void EndProcessWithin(absl::Duration limit, const std::string& message);

// The same for a process that may be unable to start a thread when it has to end: this thread is
// there from the start. Objects live as long as the process. Thread-safe.
class LastThread {
 public:
  // Saying why may hang too. The process ends this much later all the same.
  static constexpr unsigned kSecondsToSayWhy = 2;

  // `say` gets what the process did when it hung. kResourceExhausted: no thread could be started.
  static absl::StatusOr<LastThread*> Start(int exit_code,
                                           std::function<void(const std::string& doing)> say);

  // The process does this from now on.
  void Doing(absl::string_view what);
  // Unless the process has ended within `limit`, says what it does and ends it. Of several calls
  // the one that ends it first counts.
  void EndWithin(absl::Duration limit);

 private:
  LastThread(int exit_code, std::function<void(const std::string& doing)> say);
  void Run();
  // Returns what the process does, once its time is up.
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
