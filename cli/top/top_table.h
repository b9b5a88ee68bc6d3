// What `penstock top` shows: rates from two answers of a server, and rows of 80 columns from those.
// Pure functions.
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
  double slow_share = 0;  // Of the time, that the server waited for it to read: 0 to 1.
};

struct ServerLoad {
  std::string address;
  absl::Status status;  // Not OK: the server does not answer, and the rest is empty.
  std::string version = {};
  bool draining = false;
  double uptime_seconds = 0;
  double rows_per_second = 0;   // Sent.
  double bytes_per_second = 0;  // Sent.
  uint64_t waiting_requests = 0;
  uint64_t waiting_bytes = 0;
  // Of chunks that windows needed, those that were in memory: 0 to 1; nothing if none was needed.
  std::optional<double> hit_share = {};
  // 0 to 1: of the time of the engine's threads or, where that is more, of the cores, which also
  // serve gRPC and TLS.
  double busy_share = 0;
  double cores_used = 0;  // By the process.
  uint64_t memory_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  uint64_t truncated_images = 0;  // Since its start, as v1::EngineStats has them.
  uint64_t image_warnings = 0;
  std::vector<ClientLoad> clients = {};

  // "up", "draining" or "down".
  std::string state() const;
};

// Rates over the time between two answers of one server; since its start when `before` is absent,
// failed, or of an earlier start of the server. Text of others is made printable.
ServerLoad LoadBetween(const std::string& address, const absl::StatusOr<v1::ServerStats>& before,
                       const absl::StatusOr<v1::ServerStats>& now);

// Of each server a row and, under it, why it does not answer. Rows have at most 80 columns, causes
// are whole.
struct TopTable {
  struct Server {
    std::string row;
    std::string cause;                 // Of one that is down; empty otherwise.
    std::vector<std::string> clients;  // A row each.
  };
  std::string heading;
  std::vector<Server> servers;
  std::string total;  // Of several; empty of one.
};

// Addresses are narrow_text.h's. `clients`: their rows, too.
TopTable MakeTopTable(const std::vector<ServerLoad>& servers, bool clients);

// All of it, and below it, unless OK, `missing`: why there may be more servers.
std::vector<std::string> TopLines(const TopTable& table, const absl::Status& missing);

// "  CAUSE", "servers may be missing: CAUSE".
std::string CauseLine(const TopTable::Server& server);
std::string MissingLine(const absl::Status& missing);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_TOP_TABLE_H_
