// Fetches one manifest from a changing set of servers.
#ifndef PENSTOCK_CLIENT_LOADER_MANIFEST_FETCH_H_
#define PENSTOCK_CLIENT_LOADER_MANIFEST_FETCH_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/servers/server_source.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct ManifestFetchOptions {
  // Returns the bytes of the manifest as a server sends them. Errors start with the server's
  // address. The call ends with an error soon after check() returns one, and when the server has
  // sent nothing for `patience`.
  std::function<absl::StatusOr<std::string>(const std::string& address, absl::Duration patience)>
      ask;
  // Index, modulo the number of servers, of the server of a set that is asked first.
  size_t first = 0;
  // Time after which the fetch fails without a usable server. A busy server is usable: it is asked
  // again for as long as it takes.
  absl::Duration timeout = absl::Seconds(30);
  // An error that it returns ends the fetch. May be null.
  std::function<absl::Status()> check;
  // Called once, when the wait for a busy server gets longer than `timeout`.
  std::function<void(absl::string_view)> report = nullptr;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

// Not thread-safe.
class ManifestFetch {
 public:
  explicit ManifestFetch(ManifestFetchOptions options) : options_(std::move(options)) {}

  // Call it once. Fails as FetchManifest() does.
  absl::StatusOr<Manifest> Run(std::unique_ptr<ServerSource> source);

  // After success: which server gave the manifest, and why others did not. "A; not from B:
  // connection refused".
  std::string WhoGaveIt() const;

 private:
  using Clock = std::chrono::steady_clock;

  // The time that is left until the timeout. It may be infinite.
  absl::Duration Left() const;
  void OnFailure(const std::string& address, absl::Status failure);
  ServerSet Known();
  // Waits until `deadline`, or until the servers differ from `known`.
  void WaitForOthers(const ServerSet& known, Clock::time_point deadline);
  // The servers of `set` in this rank's order. Those that refused are asked again, too, because
  // somebody may mend the cause.
  std::vector<std::string> InOrder(const ServerSet& set) const;
  bool AllRefuse(const ServerSet& set) const;
  absl::StatusOr<Manifest> Ask(const std::string& address, absl::Duration patience);
  // "A: reason; B: reason", and the problem of the set itself.
  std::string Reasons(const ServerSet& set) const;
  absl::Status Refused(const ServerSet& set) const;

  const ManifestFetchOptions options_;
  std::map<std::string, absl::Status> failures_;  // The last failure of each server that was asked.
  std::string giver_;
  Clock::time_point began_;
  Clock::time_point alive_;  // Time at which a server was last known to live; initially the start.
  bool told_of_wait_ = false;
  Mutex mutex_;
  CondVar changed_;
  ServerSet set_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_MANIFEST_FETCH_H_
