// The windows that the client of one stream has defined, and the bytes of these definitions.
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

// Only this class knows windows that may not be read. Their requests get errors, like the requests
// of a window that the session gave up. Not thread-safe, except for OnFailed().
class DefinedWindows {
 public:
  // If there are more windows than this, failed ones are forgotten. The session limits the windows
  // that it knows.
  static constexpr size_t kMost = 1024;

  // `pass` counts the bytes. It must outlive this object.
  explicit DefinedWindows(Gate::Pass& pass) : pass_(pass) {}

  // Adds a window. If it returns OK and `refused` is OK, the session must still accept the window.
  // If it returns OK and `refused` is not OK, only this class knows the window. kInvalidArgument:
  // the number is in use. kResourceExhausted: a limit is reached; the message has the numbers.
  absl::Status Add(uint64_t window, uint64_t bytes, absl::Status refused);
  // Returns the error with which the window's requests fail, or OK if the session decides.
  absl::Status Refusal(uint64_t window) const;
  // Removes the window. Returns whether the session must release it too.
  bool Remove(uint64_t window);
  // Call this when the session has given the window up, on any thread, before the client is told.
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
  std::vector<uint64_t> failed_ ABSL_GUARDED_BY(mutex_);  // Windows not yet marked as failed.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_DEFINED_WINDOWS_H_
