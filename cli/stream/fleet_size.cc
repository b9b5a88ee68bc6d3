#include "cli/stream/fleet_size.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_size.h"
#include "base/json_text.h"
#include "base/text.h"
#include "client/fetch/fetch_controller.h"

namespace penstock {
namespace {

// As FormatByteRate(), with the unit of network cards.
std::string Rate(double bytes_per_second) {
  return absl::StrFormat("%s (%.2f Gbit/s)", FormatByteRate(bytes_per_second),
                         bytes_per_second * 8 / 1e9);
}

std::string Bytes(double bytes) { return FormatByteSize(static_cast<uint64_t>(bytes)); }

}  // namespace

FleetSize SizeFleet(const FleetNeed& need) {
  FleetSize size;
  size.network = need.rows_per_second * need.row_bytes;
  const double tls_cpu = need.tls ? size.network / 1e9 * kTlsServerCpuPerGb : 0;
  size.cores = (need.rows_per_second / 1e6 * need.server_cpu_s + tls_cpu) / kBusyShare;
  const double by_network = size.network * 8 / 1e9 / need.network_gbit;
  const double needed = std::max({std::ceil(size.cores / need.cores), std::ceil(by_network), 1.0});
  size.servers = static_cast<uint32_t>(needed) + 1;
  size.network_of_server = size.network / needed;
  size.network_of_rank = size.network / need.ranks;
  size.storage = need.rows_per_second * need.record_bytes;
  size.storage_share = 1.0 / size.servers;
  // Twice, because the next windows are opened ahead of time.
  size.window_bytes = 2 * need.lanes * need.window_chunks * need.chunk_bytes / needed;
  size.data_bytes = need.records * need.record_bytes;
  size.epoch_seconds = need.records / need.rows_per_second;
  size.round_trip_s =
      static_cast<double>(FetchOptions().max_outstanding_bytes) / size.network_of_rank;
  return size;
}

std::string FleetText(const FleetNeed& need, const FleetSize& size) {
  std::string text = absl::StrFormat(
      "servers   %d of %g cores and %g Gbit/s: the rate takes %.1f cores at %.0f %% load, and one "
      "server may be lost\n",
      size.servers, need.cores, need.network_gbit, size.cores, 100 * kBusyShare);
  absl::StrAppend(&text, "network   ", Rate(size.network), " in all, at most ",
                  Rate(size.network_of_server), " a server, ", Rate(size.network_of_rank),
                  " a rank\n");
  absl::StrAppendFormat(&text, "          round trips of up to %.1f ms are hidden\n",
                        1000 * size.round_trip_s);
  if (need.record_bytes > 0) {
    absl::StrAppendFormat(&text, "storage   %s in all while the data are not in memory\n",
                          Rate(size.storage));
  }
  absl::StrAppendFormat(&text, "memory    %s a server for the windows of the job\n",
                        Bytes(size.window_bytes));
  if (size.data_bytes > 0) {
    absl::StrAppendFormat(&text,
                          "          %s more a server, and epochs after the first read no file; "
                          "with less, each reads %.0f %% of the data an epoch\n",
                          Bytes(size.data_bytes), 100 * size.storage_share);
    absl::StrAppend(&text, "epoch     ", ClockText(size.epoch_seconds), "\n");
  }
  return text;
}

std::string FleetJson(const FleetNeed& need, const FleetSize& size) {
  nlohmann::ordered_json json = {{"rows_per_second", need.rows_per_second},
                                 {"row_bytes", need.row_bytes},
                                 {"servers", size.servers},
                                 {"cores", size.cores},
                                 {"network_bytes_per_second", size.network},
                                 {"server_network_bytes_per_second", size.network_of_server},
                                 {"rank_network_bytes_per_second", size.network_of_rank},
                                 {"longest_round_trip_seconds", size.round_trip_s},
                                 {"window_bytes", size.window_bytes}};
  if (need.record_bytes > 0) json["storage_bytes_per_second"] = size.storage;
  if (size.data_bytes > 0) {
    json["data_bytes"] = size.data_bytes;
    json["epoch_seconds"] = size.epoch_seconds;
  }
  return JsonText(json, 2);
}

}  // namespace penstock
