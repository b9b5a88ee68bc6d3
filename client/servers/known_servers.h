// The current servers, for callers that ask from time to time.
#ifndef PENSTOCK_CLIENT_SERVERS_KNOWN_SERVERS_H_
#define PENSTOCK_CLIENT_SERVERS_KNOWN_SERVERS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/servers/server_source.h"

namespace penstock {

// Follows `servers` as long as it lives. Thread-safe.
class KnownServers {
 public:
  // kInvalidArgument: `servers` is no server list. kResourceExhausted: ServerSource::Start()
  // failed.
  static absl::StatusOr<std::unique_ptr<KnownServers>> Follow(absl::string_view servers);

  // The current servers, maybe none. `problem` is also set while a term has not reported its
  // servers yet.
  ServerSet Now();

  // Waits until each term has reported its servers and there is at least one, or until `timeout`.
  // Then returns Now(). kUnavailable: no server was found; the message says why.
  absl::StatusOr<ServerSet> WaitForFirst(absl::Duration timeout);

 private:
  explicit KnownServers(absl::string_view servers) : servers_(servers) {}

  const std::string servers_;
  Mutex mutex_;
  CondVar changed_;
  ServerSet set_ ABSL_GUARDED_BY(mutex_) = {{}, absl::OkStatus(), /*complete=*/false};
  std::unique_ptr<ServerSource> source_;  // Last member: its calls fill in set_.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_KNOWN_SERVERS_H_
