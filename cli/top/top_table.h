// Computes the content of `penstock top`: rates from two answers of a server, and rows of 80
// columns. These are pure functions.
#ifndef PENSTOCK_CLI_TOP_TOP_TABLE_H_
#define PENSTOCK_CLI_TOP_TOP_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/pieces.pb.h"

namespace penstock {

struct ClientLoad {
  std::string client;
  std::string peer;
  uint64_t rows = 0;  // Number of rows sent since it connected.
  double rows_per_second = 0;
  double bytes_per_second = 0;
  uint64_t waiting_requests = 0;
  uint64_t waiting_bytes = 0;
  // Share of the time that the server waited for this client to read: 0 to 1.
  double slow_share = 0;
};

struct ServerLoad {
  std::string address;
  // If it is not OK, the server does not answer, and the other fields are empty.
  absl::Status status;
  std::string version = {};
  bool draining = false;
  std::string missing_data = {};  // What it lacks of the data that it must have (--require).
  double uptime_seconds = 0;
  double rows_per_second = 0;   // Rows sent per second.
  double bytes_per_second = 0;  // Bytes sent per second.
  uint64_t waiting_requests = 0;
  uint64_t waiting_bytes = 0;
  // Share, from 0 to 1, of the chunks that windows needed and that were already in memory; absent
  // if none was needed.
  std::optional<double> hit_share = {};
  // The larger of two shares, from 0 to 1: the busy share of the engine's threads, and that of the
  // cores, which also serve gRPC and TLS.
  double busy_share = 0;
  double cores_used = 0;  // Number of cores that the process uses.
  uint64_t memory_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  uint64_t truncated_images = 0;  // Counted since the server's start, as in v1::EngineStats.
  uint64_t image_warnings = 0;
  std::vector<ClientLoad> clients = {};

  // Returns "up", "no data", "draining" or "down".
  std::string state() const;
};

// Returns rates over the time between two answers of one server. If `before` is absent, failed, or
// from an earlier start of the server, returns rates since its start. Makes text from servers
// printable.
ServerLoad LoadBetween(const std::string& address, const absl::StatusOr<v1::ServerStats>& before,
                       const absl::StatusOr<v1::ServerStats>& now);

// The rows of all servers, each with the cause if it does not answer. Rows have at most 80 columns.
// Causes are complete.
struct TopTable {
  struct Server {
    std::string row;
    bool down = false;
    // The reason why it is down, or what data it lacks; empty if it is well.
    std::string cause;
    std::vector<std::string> clients;  // A row for each client.
  };
  std::string heading;
  std::vector<Server> servers;
  std::string total;  // A row for several servers together; empty if there is one.
};

// Makes the table. Shortens addresses as in narrow_text.h. `clients` adds the clients' rows.
TopTable MakeTopTable(const std::vector<ServerLoad>& servers, bool clients);

// Returns all lines and below them, unless it is OK, `missing`: the reason why there may be more
// servers.
std::vector<std::string> TopLines(const TopTable& table, const absl::Status& missing);

// These return "  CAUSE" and "servers may be missing: CAUSE".
std::string CauseLine(const TopTable::Server& server);
std::string MissingLine(const absl::Status& missing);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_TOP_TABLE_H_
