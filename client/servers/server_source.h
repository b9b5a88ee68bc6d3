// Finds the servers of a job, and reports when the set changes.
#ifndef PENSTOCK_CLIENT_SERVERS_SERVER_SOURCE_H_
#define PENSTOCK_CLIENT_SERVERS_SERVER_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/servers/resolver.h"

namespace penstock {

struct ServerSet {
  // HOST:PORT or "local:"; sorted, without duplicates; may be empty.
  std::vector<std::string> addresses;
  // If it is not OK, some servers are missing or not up to date. The message says which term and
  // why.
  absl::Status problem;
  // If it is false, some of several sources have not reported their servers yet.
  bool complete = true;

  friend bool operator==(const ServerSet&, const ServerSet&) = default;
};

// Reports the set of servers, and again whenever it changes. After the destructor has returned, it
// makes no further call. Call Start() once. Otherwise thread-safe.
class ServerSource {
 public:
  using OnSet = std::function<void(const ServerSet&)>;
  virtual ~ServerSource() = default;

  // Calls `on_set` once soon, and then whenever the set or its problem has changed. The calls come
  // from the source's own threads or before Start() returns, and never two at a time. `on_set` must
  // not block.
  // kResourceExhausted: a thread could not be started.
  virtual absl::Status Start(OnSet on_set) = 0;
  // Looks again soon. Call it when a server was lost.
  virtual void Refresh() = 0;
};

struct ServerSourceOptions {
  // Shared by all names. May be null; then the system's resolver is used.
  std::shared_ptr<Resolver> resolver;
  // The rate lets a client use a server within 2 s after it joins. It costs two queries a second
  // from each client to the nearest name server. Caches on the way (systemd-resolved, nscd, a
  // node's cache) answer most of them.
  absl::Duration resolve_every = absl::Seconds(1);
  absl::Duration look_at_path_every = absl::Seconds(1);  // Applies in addition to inotify's events.
  // While there is a problem, it replaces each of the two times above that is longer. A job without
  // servers waits for the answer.
  absl::Duration retry_every = absl::Milliseconds(250);
  // Minimum time from the start of one look to a look that Refresh() or inotify asks for.
  absl::Duration refresh_gap = absl::Milliseconds(250);
};

// Makes the source of `servers`, which ParseServerList() parses. Fails as that function does. Reads
// and resolves nothing before Start(), so nobody knows earlier whether the terms lead to servers. A
// server that several terms name counts once.
absl::StatusOr<std::unique_ptr<ServerSource>> MakeServerSource(
    absl::string_view servers, const ServerSourceOptions& options = {});

// Makes a source that always has the same servers and reports them inside Start().
std::unique_ptr<ServerSource> MakeFixedServers(std::vector<std::string> addresses);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_SERVER_SOURCE_H_
