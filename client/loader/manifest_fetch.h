// Asks servers that come and go for one manifest.
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
  // The bytes of the manifest as a server sends them; errors start with its address. It ends soon
  // with an error once check() returns one, and once the server said nothing for `patience`.
  std::function<absl::StatusOr<std::string>(const std::string& address, absl::Duration patience)>
      ask;
  size_t first = 0;  // Which server is asked first, of those known then, modulo their number.
  // Without any server that could be used. One that is busy with others can be: it is asked again
  // for as long as it takes.
  absl::Duration timeout = absl::Seconds(30);
  std::function<absl::Status()> check;
  // Told once, when such a wait gets longer than `timeout`.
  std::function<void(absl::string_view)> report = nullptr;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

// Not thread-safe.
class ManifestFetch {
 public:
  explicit ManifestFetch(ManifestFetchOptions options) : options_(std::move(options)) {}

  // Once. The errors of FetchManifest().
  absl::StatusOr<Manifest> Run(std::unique_ptr<ServerSource> source);

  // After success; also why others did not. "A; not from B: connection refused".
  std::string WhoGaveIt() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Until the timeout, which may be without end.
  absl::Duration Left() const;
  void OnFailure(const std::string& address, absl::Status failure);
  ServerSet Known();
  // Until `deadline`, or the servers are others than `known`.
  void WaitForOthers(const ServerSet& known, Clock::time_point deadline);
  // Those of `set` that have not refused, in this rank's order.
  std::vector<std::string> Askable(const ServerSet& set) const;
  absl::StatusOr<Manifest> Ask(const std::string& address, absl::Duration patience);
  // "A: reason; B: reason", and what is wrong with the set itself.
  std::string Reasons(const ServerSet& set) const;
  absl::Status Refused(const ServerSet& set) const;

  const ManifestFetchOptions options_;
  std::map<std::string, absl::Status> failures_;  // The last one of each server that was asked.
  std::string giver_;
  Clock::time_point began_;
  Clock::time_point alive_;  // When a server was known to live last; at first the beginning.
  bool told_of_wait_ = false;
  Mutex mutex_;
  CondVar changed_;
  ServerSet set_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_MANIFEST_FETCH_H_
