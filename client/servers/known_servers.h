// The servers that there are, for who asks now and then.
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

// Follows `servers` while it lives. Thread-safe.
class KnownServers {
 public:
  // kInvalidArgument: `servers`; kResourceExhausted as of ServerSource::Start().
  static absl::StatusOr<std::unique_ptr<KnownServers>> Follow(absl::string_view servers);

  // Those of this moment, maybe none. The problem also says where a term has not told its own yet.
  ServerSet Now();

  // Now(), once each term has told its own and there is one at all, or after `timeout`.
  // kUnavailable: none were found, and why.
  absl::StatusOr<ServerSet> WaitForFirst(absl::Duration timeout);

 private:
  explicit KnownServers(absl::string_view servers) : servers_(servers) {}

  const std::string servers_;
  Mutex mutex_;
  CondVar changed_;
  ServerSet set_ ABSL_GUARDED_BY(mutex_) = {{}, absl::OkStatus(), /*complete=*/false};
  std::unique_ptr<ServerSource> source_;  // Last: it calls what fills in set_.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_KNOWN_SERVERS_H_
