// Where the servers are, as it changes.
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
  std::vector<std::string> addresses;  // HOST:PORT or "local:"; sorted, each once; maybe none.
  // Not OK: some of it is missing, or as it was when it could be read last; names what and why.
  absl::Status problem;
  // False: of several sources, some have not told theirs yet.
  bool complete = true;

  friend bool operator==(const ServerSet&, const ServerSet&) = default;
};

// Tells the servers that there are, and again whenever that changes. The destructor returns when
// no further call can come. Start() once; Thread-safe otherwise.
class ServerSource {
 public:
  using OnSet = std::function<void(const ServerSet&)>;
  virtual ~ServerSource() = default;

  // `on_set` is called whenever the set or its problem has changed and, soon, once at first: on
  // the source's own threads or before Start() returns, never twice at a time. It must not block.
  // kResourceExhausted: a thread could not be started.
  virtual absl::Status Start(OnSet on_set) = 0;
  // A server was lost: look again soon.
  virtual void Refresh() = 0;
};

struct ServerSourceOptions {
  std::shared_ptr<Resolver> resolver;  // Shared by all names; null: the system's.
  // A server that joins is to be used within 2 s. The price is two questions a second and client
  // to the next name server; caches on the way (systemd-resolved, nscd, a node's) answer most.
  absl::Duration resolve_every = absl::Seconds(1);
  absl::Duration look_at_path_every = absl::Seconds(1);  // Beside what inotify tells.
  absl::Duration retry_every = absl::Seconds(1);         // While there is a problem, if shorter.
  // Of looks that Refresh() or inotify ask for: at least so long after the last one began.
  absl::Duration refresh_gap = absl::Milliseconds(500);
};

// As ParseServerList() reads `servers`; that all of it is known later: nothing is read or resolved
// before Start(). A server that several terms name is one.
absl::StatusOr<std::unique_ptr<ServerSource>> MakeServerSource(
    absl::string_view servers, const ServerSourceOptions& options = {});

// Always the same servers, told inside Start().
std::unique_ptr<ServerSource> MakeFixedServers(std::vector<std::string> addresses);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_SERVER_SOURCE_H_
