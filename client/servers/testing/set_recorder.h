// Records the sets that a source reports, for a test to wait for.
#ifndef PENSTOCK_CLIENT_SERVERS_TESTING_SET_RECORDER_H_
#define PENSTOCK_CLIENT_SERVERS_TESTING_SET_RECORDER_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/mutex.h"
#include "client/servers/server_source.h"

namespace penstock {

// Must outlive the source that it listens to. Thread-safe.
class SetRecorder {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  ServerSource::OnSet Listener() {
    return [this](const ServerSet& set) {
      MutexLock lock(&mutex_);
      sets_.push_back(set);
      changed_.NotifyAll();
    };
  }
  // Waits for a set for which `wanted` is true. Looks at sets in order, from the first one that no
  // earlier call has looked at. Returns false if none came within kPatience.
  template <typename Predicate>
  bool WaitFor(Predicate wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(&mutex_);
    while (true) {
      for (; seen_ < sets_.size(); ++seen_) {
        if (wanted(sets_[seen_])) return true;
      }
      if (!changed_.WaitUntil(&mutex_, deadline)) return false;
    }
  }
  bool WaitForAddresses(const std::vector<std::string>& addresses) {
    return WaitFor([&](const ServerSet& set) { return set.addresses == addresses; });
  }
  bool WaitForProblem(const std::string& text) {
    return WaitFor([&](const ServerSet& set) {
      return !set.problem.ok() && absl::StrContains(set.problem.message(), text);
    });
  }
  ServerSet last() {
    MutexLock lock(&mutex_);
    return sets_.empty() ? ServerSet{} : sets_.back();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<ServerSet> sets_ ABSL_GUARDED_BY(mutex_);
  size_t seen_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_TESTING_SET_RECORDER_H_
