#include "client/metrics/loader_metrics.h"

#include <string>
#include <vector>

namespace penstock {
namespace {

using Server = LoaderStats::Server;

void AddTo(Server& sum, const Server& server) {
  sum.parts += server.parts;
  sum.rows += server.rows;
  sum.bytes += server.bytes;
  sum.windows += server.windows;
  sum.requests_in_flight += server.requests_in_flight;
  sum.lost_requests += server.lost_requests;
  sum.stream_breaks += server.stream_breaks;
  sum.backoffs += server.backoffs;
  sum.late_requests += server.late_requests;
  sum.windows_handed_over += server.windows_handed_over;
  sum.extra_loads += server.extra_loads;
  sum.checksum_failures += server.checksum_failures;
}

std::vector<Server> Bounded(const std::vector<Server>& servers) {
  if (servers.size() <= kMaxServerSeries) return servers;
  std::vector<Server> bounded(servers.begin(), servers.begin() + kMaxServerSeries);
  Server other;
  other.address = "other";
  for (size_t i = kMaxServerSeries; i < servers.size(); ++i) AddTo(other, servers[i]);
  bounded.push_back(std::move(other));
  return bounded;
}

void AddServers(const std::vector<Server>& servers, MetricFamilies& families) {
  const auto counter = [&](const char* name, const char* help, uint64_t Server::*field) {
    for (const Server& server : servers) {
      families.AddCounter(name, help, static_cast<double>(server.*field),
                          {{"server", server.address}});
    }
  };
  counter("penstock_client_server_rows_total", "Rows received from a server.", &Server::rows);
  counter("penstock_client_server_received_bytes_total", "Bytes of rows received from a server.",
          &Server::bytes);
  counter("penstock_client_server_windows_total", "Windows opened on a server.", &Server::windows);
  counter("penstock_client_server_lost_requests_total",
          "Requests in flight when a server's stream broke; they were asked again elsewhere.",
          &Server::lost_requests);
  counter("penstock_client_server_stream_breaks_total", "Streams to a server that broke.",
          &Server::stream_breaks);
  counter("penstock_client_server_backoffs_total",
          "Back-offs from a server, after a broken stream or a failed connection attempt.",
          &Server::backoffs);
  counter("penstock_client_server_late_requests_total", "Requests that missed their deadline.",
          &Server::late_requests);
  counter("penstock_client_server_windows_handed_over_total",
          "Windows moved away from a server, because it was late or silent or another one joined.",
          &Server::windows_handed_over);
  counter("penstock_client_server_extra_loads_total",
          "Windows that a server loaded again, after another server had loaded them.",
          &Server::extra_loads);
  counter("penstock_client_server_checksum_failures_total",
          "Parts whose bytes changed between the server and this client.",
          &Server::checksum_failures);
  for (const Server& server : servers) {
    families.AddGauge("penstock_client_server_requests_in_flight",
                      "Requests that a server has not answered in full.",
                      static_cast<double>(server.requests_in_flight), {{"server", server.address}});
  }
}

}  // namespace

void AddLoaderMetrics(const LoaderStats& stats, const std::string& certificate,
                      MetricFamilies& families) {
  size_t connected = 0, named = 0;
  for (const Server& server : stats.servers) {
    named += server.named;
    connected += server.named && server.connected;
  }
  families.AddCounter("penstock_client_batches_total", "Batches handed out.",
                      static_cast<double>(stats.batches));
  families.AddCounter("penstock_client_rows_total", "Rows handed out.",
                      static_cast<double>(stats.rows));
  families.AddCounter("penstock_client_batch_bytes_total", "Bytes of batches handed out.",
                      static_cast<double>(stats.bytes));
  // The counter's rate is the share of time that the consumer waits: 0 to 1.
  families.AddCounter("penstock_client_wait_seconds_total",
                      "Time that the consumer waited for batches, including a wait in progress.",
                      absl::ToDoubleSeconds(stats.wait));
  families.AddHistogram("penstock_client_batch_wait_seconds",
                        "Time that the consumer waited for each batch.", stats.waits);
  families.AddCounter("penstock_client_copying_seconds_total",
                      "Time spent copying or decoding rows into batches, by all threads.",
                      absl::ToDoubleSeconds(stats.copying));
  families.AddCounter("penstock_client_scheduling_seconds_total",
                      "Time spent deciding what to ask for, by one thread at a time.",
                      absl::ToDoubleSeconds(stats.scheduling));
  families.AddCounter("penstock_client_replaced_records_total",
                      "Damaged records replaced by other records (--on-error replace).",
                      static_cast<double>(stats.replaced_records));
  families.AddCounter("penstock_client_undecodable_rows_total",
                      "Rows replaced by others, because their records cannot be decoded.",
                      static_cast<double>(stats.undecodable_rows));
  families.AddCounter("penstock_client_truncated_images_total",
                      "Images with a truncated file, whose missing end was filled.",
                      static_cast<double>(stats.images.truncated));
  families.AddCounter("penstock_client_image_warnings_total",
                      "Damage of images that the decoder worked around.",
                      static_cast<double>(stats.images.warnings));
  families.AddGauge("penstock_client_slots", "Largest number of batches fetched ahead.",
                    static_cast<double>(stats.slots));
  families.AddGauge("penstock_client_servers", "Servers that are or were in the set.",
                    static_cast<double>(stats.servers.size()));
  families.AddGauge("penstock_client_servers_named",
                    "Servers that --servers names now; 0 once all batches have been fetched.",
                    static_cast<double>(named));
  families.AddGauge(
      "penstock_client_servers_connected",
      "Servers named now that a stream is open to, including those that are draining.",
      static_cast<double>(connected));
  AddServers(Bounded(stats.servers), families);
  families.AddCertificateExpiry("penstock_client_certificate_expiry_timestamp_seconds",
                                certificate);
  families.AddProcess();
}

}  // namespace penstock
