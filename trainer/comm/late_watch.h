// Tells of waits that last too long, while they last.
#ifndef PENSTOCK_TRAINER_COMM_LATE_WATCH_H_
#define PENSTOCK_TRAINER_COMM_LATE_WATCH_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "records/base/mutex.h"

namespace penstock {

// Thread-safe; one wait at a time.
class LateWatch {
 public:
  // `report` is called on a thread of its own, once a wait.
  LateWatch(std::chrono::milliseconds late_after, std::function<void(absl::string_view)> report);
  ~LateWatch();

  // The calling rank waits for `peer` from now on.
  void Begin(size_t peer);
  void End();

 private:
  void Watch(const std::stop_token& stop);

  const std::chrono::milliseconds late_after_;
  const std::function<void(absl::string_view)> report_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<size_t> peer_ ABSL_GUARDED_BY(mutex_);  // Absent: no wait, or it was told of.
  std::chrono::steady_clock::time_point since_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_COMM_LATE_WATCH_H_
