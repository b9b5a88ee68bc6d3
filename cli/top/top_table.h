// Computes the content of `penstock top`: rates from two answers of a server, and rows of 80
// columns. Pure functions.
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
  uint64_t rows = 0;  // Since it connected.
  double rows_per_second = 0;
  double bytes_per_second = 0;
  uint64_t waiting_requests = 0;
  uint64_t waiting_bytes = 0;
  // Share of the time that the server waited for this client to read: 0 to 1.
  double slow_share = 0;
};

struct ServerLoad {
  std::string address;
  absl::Status status;  // Not OK: the server does not answer, and the other fields are empty.
  std::string version = {};
  bool draining = false;
  double uptime_seconds = 0;
  double rows_per_second = 0;   // Of rows that were sent.
  double bytes_per_second = 0;  // Of bytes that were sent.
  uint64_t waiting_requests = 0;
  uint64_t waiting_bytes = 0;
  // Share of the chunks that windows needed and that were already in memory: 0 to 1. Absent if none
  // was needed.
  std::optional<double> hit_share = {};
  // 0 to 1: busy share of the engine's threads or of the cores, which also serve gRPC and TLS,
  // whichever is larger.
  double busy_share = 0;
  double cores_used = 0;  // By the process.
  uint64_t memory_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  uint64_t truncated_images = 0;  // Since its start, as in v1::EngineStats.
  uint64_t image_warnings = 0;
  std::vector<ClientLoad> clients = {};

  // Returns "up", "draining" or "down".
  std::string state() const;
};

// Returns rates over the time between two answers of one server. If `before` is absent, failed, or
// from an earlier start of the server, returns rates since its start. Makes text from servers
// printable.
ServerLoad LoadBetween(const std::string& address, const absl::StatusOr<v1::ServerStats>& before,
                       const absl::StatusOr<v1::ServerStats>& now);

// A row for each server, and the cause if it does not answer. Rows have at most 80 columns; causes
// are complete.
struct TopTable {
  struct Server {
    std::string row;
    std::string cause;                 // For a server that is down; empty otherwise.
    std::vector<std::string> clients;  // A row for each client.
  };
  std::string heading;
  std::vector<Server> servers;
  std::string total;  // For several servers; empty for one.
};

// Shortens addresses as in narrow_text.h. `clients`: adds the clients' rows.
TopTable MakeTopTable(const std::vector<ServerLoad>& servers, bool clients);

// Returns all lines and below them, unless OK, `missing`: why there may be more servers.
std::vector<std::string> TopLines(const TopTable& table, const absl::Status& missing);

// Return "  CAUSE" and "servers may be missing: CAUSE".
std::string CauseLine(const TopTable::Server& server);
std::string MissingLine(const absl::Status& missing);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_TOP_TABLE_H_
