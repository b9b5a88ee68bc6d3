// The windows that one stream's client has defined, and the bytes that it said for them.
#ifndef PENSTOCK_SERVER_DEFINED_WINDOWS_H_
#define PENSTOCK_SERVER_DEFINED_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/gate.h"

namespace penstock {

// A window that may not be read is known here alone: its requests get errors, as those of one that
// the session gave up do. Not thread-safe but for OnFailed().
class DefinedWindows {
 public:
  // Beyond it those that failed are forgotten. The session limits those that it knows.
  static constexpr size_t kMost = 1024;

  // `pass` counts the bytes; it outlives this.
  explicit DefinedWindows(Gate::Pass& pass) : pass_(pass) {}

  // OK: a window that was `refused` is known now, any other the session must still accept.
  // kInvalidArgument: the number is in use; kResourceExhausted: a limit, with the numbers.
  absl::Status Add(uint64_t window, uint64_t bytes, absl::Status refused);
  // Why its requests fail; OK: ask the session.
  absl::Status Refusal(uint64_t window) const;
  // Whether the session is to release it too.
  bool Remove(uint64_t window);
  // The session gave it up. On any thread, before the client hears of it.
  void OnFailed(uint64_t window);

  size_t size() const { return windows_.size(); }

 private:
  struct Definition {
    uint64_t bytes = 0;
    absl::Status refused;
    bool failed = false;
  };
  using Windows = std::map<uint64_t, Definition>;

  void MarkFailed();
  Windows::iterator Forget(Windows::iterator window);

  Gate::Pass& pass_;
  Windows windows_;
  Mutex mutex_;
  std::vector<uint64_t> failed_ ABSL_GUARDED_BY(mutex_);  // Not marked yet.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_DEFINED_WINDOWS_H_
