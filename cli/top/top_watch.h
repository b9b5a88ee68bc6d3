// Asks servers again and again, for `penstock top`.
#ifndef PENSTOCK_CLI_TOP_TOP_WATCH_H_
#define PENSTOCK_CLI_TOP_TOP_WATCH_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/top/top_table.h"
#include "client/servers/known_servers.h"
#include "client/transport/grpc/stats_call.h"
#include "client/transport/network_options.h"
#include "proto/pieces.pb.h"

namespace penstock {

// Each look asks the servers that are then in `servers`. Not thread-safe.
class TopWatch {
 public:
  // `servers` must outlive this.
  TopWatch(KnownServers& servers, const NetworkOptions& network)
      : servers_(servers), network_(network) {}

  // Asks all servers at once.
  void Look();

  // The load of each server since the last look, ordered by address. For a server that was not
  // there then, it is the load since its start.
  const std::vector<ServerLoad>& loads() const { return loads_; }
  // The reason why there may be more servers; OK if there is none.
  const absl::Status& missing() const { return missing_; }
  // If it is not OK, a server did not answer in the last look, or there may be more servers.
  absl::Status health() const;

 private:
  struct Server {
    std::unique_ptr<StatsCaller> caller;
    absl::StatusOr<v1::ServerStats> answer = absl::UnknownError("");  // The last answer.
  };

  void Follow(const std::vector<std::string>& addresses);
  std::vector<absl::StatusOr<v1::ServerStats>> AskAll() const;

  KnownServers& servers_;
  const NetworkOptions network_;
  std::map<std::string, Server> asked_;
  std::vector<ServerLoad> loads_;
  absl::Status missing_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_TOP_WATCH_H_
