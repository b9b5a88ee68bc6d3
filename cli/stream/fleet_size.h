// How many servers a training needs, from its rate and the measured cost of a row.
#ifndef PENSTOCK_CLI_STREAM_FLEET_SIZE_H_
#define PENSTOCK_CLI_STREAM_FLEET_SIZE_H_

#include <cstdint>
#include <string>

namespace penstock {

struct FleetNeed {
  double rows_per_second = 0;  // Of all ranks together.
  double row_bytes = 0;        // Of a decoded row.
  double server_cpu_s = 0;     // CPU seconds of servers per million rows, without TLS.
  double record_bytes = 0;     // Of a record in its file.
  double records = 0;          // Of the dataset; 0: unknown.
  double cores = 32;           // Of a server.
  double network_gbit = 25;    // Network of a server, in 10^9 bits per second.
  uint32_t ranks = 1;
  bool tls = false;
  // Those of the order, which decide how much memory the windows of a job take.
  double lanes = 64, window_chunks = 16, chunk_bytes = 256 << 10;
};

struct FleetSize {
  double cores = 0;              // Of all servers together, at kBusyShare.
  uint32_t servers = 0;          // One more than the rate needs, and at least 2.
  double network = 0;            // Bytes per second of all servers together.
  double network_of_server = 0;  // Once one server is lost.
  double network_of_rank = 0;
  double storage = 0;        // Bytes per second that all servers read, if nothing is in memory.
  double storage_share = 0;  // The share of the data that one server reads in each epoch.
  double window_bytes = 0;   // Memory of one server for the windows of the job.
  double data_bytes = 0;     // Memory of one server that holds all data; 0: unknown.
  double epoch_seconds = 0;  // 0: unknown.
  double round_trip_s = 0;   // The longest round trip at which a rank still gets its rows.
};

// Ranks do not wait for servers that are busy for at most this share of the time.
inline constexpr double kBusyShare = 0.6;
// CPU seconds that TLS takes per 10^9 bytes, on the servers' side.
inline constexpr double kTlsServerCpuPerGb = 0.75;

FleetSize SizeFleet(const FleetNeed& need);

// Returns a line for each quantity.
std::string FleetText(const FleetNeed& need, const FleetSize& size);
// Returns {"servers": 3, ...}, with the names of FleetSize.
std::string FleetJson(const FleetNeed& need, const FleetSize& size);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_FLEET_SIZE_H_
