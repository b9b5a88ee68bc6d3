#include "server/server_metrics.h"

#include <string>

#include "penstock_version.h"
#include "server/grpc_log.h"

namespace penstock {
namespace {

void AddMemory(const v1::EngineStats& engine, MetricFamilies& families) {
  const auto bytes = [](uint64_t count) { return static_cast<double>(count); };
  families.AddGauge("penstock_server_memory_budget_bytes",
                    "Memory that chunks and windows may take.", bytes(engine.budget_bytes()));
  families.AddGauge("penstock_server_memory_resident_bytes", "Memory that chunks and windows take.",
                    bytes(engine.resident_bytes()));
  families.AddGauge("penstock_server_memory_pinned_bytes",
                    "Memory of chunks and windows in use, which cannot make room for others.",
                    bytes(engine.pinned_bytes()));
  families.AddGauge("penstock_server_part_bytes", "Memory of decoded rows that are not sent yet.",
                    bytes(engine.part_bytes()));
  families.AddGauge("penstock_server_strip_bytes",
                    "Memory of decoded rows that are kept for other streams.",
                    bytes(engine.strip_bytes()));
  families.AddCounter("penstock_server_chunk_hits_total",
                      "Chunks of opened windows that were in memory.", bytes(engine.chunk_hits()));
  families.AddCounter("penstock_server_chunk_loads_total", "Chunks read from files.",
                      bytes(engine.chunks_loaded()));
  families.AddCounter("penstock_server_chunk_evictions_total", "Chunks that made room for others.",
                      bytes(engine.chunks_evicted()));
  families.AddCounter("penstock_server_read_bytes_total", "Bytes read from files.",
                      bytes(engine.bytes_read()));
  families.AddCounter("penstock_server_slow_reads_total",
                      "Chunks whose reading waited for storage.", bytes(engine.slow_reads()));
  families.AddCounter(
      "penstock_server_read_seconds_total",
      "Time spent in reads while storage is slow, summed over threads; its rate is the number of "
      "reads in progress at a time.",
      engine.read_seconds());
}

void AddQueues(const v1::ServerStats& stats, MetricFamilies& families) {
  const v1::EngineStats& engine = stats.engine();
  families.AddGauge("penstock_server_streams", "Open streams: one for each connection of a client.",
                    stats.stream_size());
  families.AddCounter("penstock_server_streams_opened_total", "Streams that clients opened.",
                      static_cast<double>(stats.totals().streams()));
  families.AddCounter(
      "penstock_server_streams_refused_total",
      "Streams that the server refused, or ended because of an error of the client.",
      static_cast<double>(stats.totals().refused()));
  families.AddCounter("penstock_server_handshakes_failed_total",
                      "Failed TLS handshakes, including clients that speak plaintext to a TLS "
                      "port or TLS to a plaintext port.",
                      static_cast<double>(NumFailedHandshakes()));
  families.AddGauge("penstock_server_windows", "Open windows.",
                    static_cast<double>(engine.windows()));
  families.AddGauge("penstock_server_windows_waiting", "Windows that wait for memory.",
                    static_cast<double>(engine.waiting_windows()));
  families.AddCounter("penstock_server_windows_opened_total", "Windows that clients opened.",
                      static_cast<double>(stats.totals().windows()));
  families.AddCounter("penstock_server_windows_yielded_total",
                      "Idle windows evicted to free memory for others.",
                      static_cast<double>(engine.windows_yielded()));
  families.AddCounter("penstock_server_windows_failed_total",
                      "Windows that failed: refused for lack of memory, unreadable, or damaged.",
                      static_cast<double>(stats.totals().failed_windows()));
  families.AddCounter("penstock_server_windows_damaged_total",
                      "Failed windows whose bytes differ from what was indexed.",
                      static_cast<double>(stats.totals().damaged_windows()));
  families.AddGauge("penstock_server_requests_waiting", "Requests not answered in full.",
                    static_cast<double>(engine.waiting_requests()));
  families.AddGauge("penstock_server_waiting_bytes",
                    "Bytes of requested rows that are not decoded yet.",
                    static_cast<double>(engine.waiting_bytes()));
  families.AddCounter("penstock_server_requests_total", "Requests for rows.",
                      static_cast<double>(stats.totals().requests()));
}

void AddOutput(const v1::ServerStats& stats, MetricFamilies& families) {
  const v1::EngineStats& engine = stats.engine();
  families.AddCounter("penstock_server_rows_decoded_total", "Rows decoded for answers.",
                      static_cast<double>(engine.rows_decoded()));
  families.AddCounter("penstock_server_decoded_bytes_total", "Bytes of rows decoded for answers.",
                      static_cast<double>(engine.bytes_out()));
  families.AddCounter("penstock_server_strip_rows_total",
                      "Rows of answers from blocks that streams on the same plan share.",
                      static_cast<double>(engine.strip_rows()));
  families.AddCounter("penstock_server_strip_rows_decoded_total",
                      "Rows decoded into shared blocks; penstock_server_strip_rows_total minus "
                      "this is what sharing "
                      "saved.",
                      static_cast<double>(engine.strip_rows_decoded()));
  families.AddCounter("penstock_server_truncated_images_total",
                      "Images with a truncated file, whose missing end was filled.",
                      static_cast<double>(engine.truncated_images()));
  families.AddCounter("penstock_server_image_warnings_total",
                      "Damage of images that the decoder worked around.",
                      static_cast<double>(engine.image_warnings()));
  families.AddCounter("penstock_server_rows_sent_total", "Rows sent to clients.",
                      static_cast<double>(stats.totals().rows()));
  families.AddCounter("penstock_server_sent_bytes_total", "Bytes of rows sent to clients.",
                      static_cast<double>(stats.totals().bytes()));
  families.AddCounter("penstock_server_parts_sent_total", "Messages with rows sent to clients.",
                      static_cast<double>(stats.totals().parts()));
  families.AddCounter("penstock_server_write_wait_seconds_total",
                      "Time that streams spent writing to the network, summed over streams; a "
                      "rate near the number of streams means that clients read too slowly.",
                      stats.totals().write_wait_seconds());
}

// The share of the server that is in use, which is the signal to scale by, is the larger of busy /
// capacity and process_cpu_seconds_total / cores. Both are needed: threads wait for slow storage
// without using CPU, and most of a server's CPU time is in gRPC and TLS, not in the engine.
void AddEngineTime(const v1::ServerStats& stats, MetricFamilies& families) {
  const v1::EngineStats& engine = stats.engine();
  const std::string busy = "penstock_server_engine_busy_seconds_total";
  const std::string help = "Time of the engine's threads by what they did.";
  families.AddCounter(busy, help, engine.load_seconds(), {{"activity", "load"}});
  families.AddCounter(busy, help, engine.build_seconds(), {{"activity", "build"}});
  families.AddCounter(busy, help, engine.decode_seconds(), {{"activity", "decode"}});
  families.AddCounter(busy, help, engine.send_seconds(), {{"activity", "send"}});
  families.AddCounter("penstock_server_engine_capacity_seconds_total",
                      "Time that the engine's threads had: their number times the uptime.",
                      engine.capacity_seconds());
  families.AddGauge("penstock_server_engine_threads", "Threads that load and decode.",
                    stats.threads());
  families.AddGauge(
      "penstock_server_cores",
      "Cores that the process may use; a fraction if its control group has such a limit.",
      stats.cores());
}

void AddConnections(const v1::ConnectionStats& connections, MetricFamilies& families) {
  families.AddGauge("penstock_server_connections", "Open connections that gRPC has.",
                    static_cast<double>(connections.open()));
  families.AddGauge("penstock_server_connections_waiting",
                    "New connections that wait, because too many have no answered call yet.",
                    static_cast<double>(connections.waiting()));
  families.AddCounter("penstock_server_connections_cut_total",
                      "Connections closed because they sent bytes outside any call.",
                      static_cast<double>(connections.cut()));
  families.AddCounter("penstock_server_connections_displaced_total",
                      "Connections without an answered call, closed to make room for others.",
                      static_cast<double>(connections.displaced()));
  families.AddCounter("penstock_server_connections_refused_total",
                      "New connections closed because too many waited.",
                      static_cast<double>(connections.refused()));
}

}  // namespace

void AddServerMetrics(const v1::ServerStats& stats, MetricFamilies& families) {
  families.AddGauge("penstock_server_build_info", "Which build this is; always 1.", 1,
                    {{"version", PENSTOCK_VERSION}, {"commit", PENSTOCK_COMMIT}});
  families.AddGauge("penstock_server_data_missing",
                    "1 while data of --require is missing, so that the server is not ready.",
                    stats.missing_data().empty() ? 0 : 1);
  families.AddGauge("penstock_server_draining", "1 while the server waits for streams to end.",
                    stats.draining() ? 1 : 0);
  AddOutput(stats, families);
  AddEngineTime(stats, families);
  AddQueues(stats, families);
  AddMemory(stats.engine(), families);
  families.AddGauge("penstock_server_shared_memory_bytes",
                    "Memory that clients of the same machine map; not part of the budget.",
                    static_cast<double>(stats.shared_memory_bytes()));
  AddConnections(stats.connections(), families);
  families.AddProcess();
}

}  // namespace penstock
