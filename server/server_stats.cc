#include "server/server_stats.h"

#include "base/process/machine_limits.h"
#include "base/process/process_stats.h"
#include "penstock_version.h"

namespace penstock {
namespace {

v1::EngineStats ToProto(const EngineStats& from) {
  v1::EngineStats to;
  to.set_sessions(from.sessions);
  to.set_windows(from.windows);
  to.set_waiting_windows(from.waiting_windows);
  to.set_waiting_requests(from.waiting_requests);
  to.set_waiting_bytes(from.waiting_bytes);
  to.set_budget_bytes(from.budget_bytes);
  to.set_resident_bytes(from.resident_bytes);
  to.set_pinned_bytes(from.pinned_bytes);
  to.set_part_bytes(from.part_bytes);
  to.set_strip_bytes(from.strip_bytes);
  to.set_chunk_hits(from.chunk_hits);
  to.set_chunks_loaded(from.chunks_loaded);
  to.set_chunks_evicted(from.chunks_evicted);
  to.set_bytes_read(from.bytes_read);
  to.set_windows_yielded(from.windows_yielded);
  to.set_rows_decoded(from.rows_decoded);
  to.set_strip_rows(from.strip_rows);
  to.set_strip_rows_decoded(from.strip_rows_decoded);
  to.set_parts(from.parts);
  to.set_bytes_out(from.bytes_out);
  to.set_load_seconds(from.load_seconds);
  to.set_build_seconds(from.build_seconds);
  to.set_decode_seconds(from.decode_seconds);
  to.set_send_seconds(from.send_seconds);
  to.set_capacity_seconds(from.capacity_seconds);
  to.set_read_seconds(from.read_seconds);
  to.set_slow_reads(from.slow_reads);
  to.set_truncated_images(from.images.truncated);
  to.set_image_warnings(from.images.warnings);
  return to;
}

}  // namespace

v1::ServerStats DescribeServer(const EngineStats& engine,
                               std::chrono::steady_clock::time_point started) {
  static const double cores = ReadMachineLimits().exact_cores;
  const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - started;
  const ProcessStats process = ReadProcessStats();
  v1::ServerStats stats;
  stats.set_version(PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")");
  stats.set_instance(engine.instance);
  stats.set_uptime_seconds(uptime.count());
  stats.set_cores(cores);
  stats.set_threads(engine.threads);
  stats.set_cpu_seconds(process.cpu_seconds);
  stats.set_resident_bytes(process.resident_bytes);
  stats.set_open_files(process.open_files);
  stats.set_open_files_limit(process.open_files_limit);
  *stats.mutable_engine() = ToProto(engine);
  return stats;
}

void AddTo(v1::StreamTotals& totals, const v1::StreamStats& stream) {
  totals.set_windows(totals.windows() + stream.windows());
  totals.set_requests(totals.requests() + stream.requests());
  totals.set_rows(totals.rows() + stream.rows());
  totals.set_parts(totals.parts() + stream.parts());
  totals.set_bytes(totals.bytes() + stream.bytes());
  totals.set_write_wait_seconds(totals.write_wait_seconds() + stream.write_wait_seconds());
  totals.set_failed_windows(totals.failed_windows() + stream.failed_windows());
  totals.set_damaged_windows(totals.damaged_windows() + stream.damaged_windows());
}

}  // namespace penstock
