// Logs the windows of one stream that fail.
#ifndef PENSTOCK_SERVER_FAILURE_LOG_H_
#define PENSTOCK_SERVER_FAILURE_LOG_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "records/engine/session.h"
#include "server/gate.h"

namespace penstock {

// Logs one line for each failed window, because its requests fail for the same reason, and one line
// for a stream whose windows do not fit together. Logs fewer lines if earlier streams of the host
// had many. Thread-safe.
class FailureLog {
 public:
  // This many failed windows get a line. The rest are only counted.
  static constexpr uint64_t kMaxLogged = 20;

  // `pass` must outlive this object.
  FailureLog(const Gate::Pass& pass, std::string peer) : pass_(pass), peer_(std::move(peer)) {}

  void Add(const StreamError& error, absl::string_view client);
  uint64_t failed_windows() const { return num_failed_.load(std::memory_order_relaxed); }
  uint64_t damaged_windows() const { return num_damaged_.load(std::memory_order_relaxed); }

 private:
  void TellOfMemory(const absl::Status& status, absl::string_view client);
  void TellOfWindow(const StreamError& error) const;

  const Gate::Pass& pass_;
  const std::string peer_;
  std::atomic<uint64_t> num_failed_{0};
  std::atomic<uint64_t> num_damaged_{0};
  std::atomic<bool> told_of_memory_{false};
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_FAILURE_LOG_H_
