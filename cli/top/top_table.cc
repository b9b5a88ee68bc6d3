#include "cli/top/top_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/terminal/narrow_text.h"

namespace penstock {
namespace {

std::string Clipped(std::string line) {
  if (line.size() > kUsualColumns) line.resize(kUsualColumns);
  return line;
}

double Share(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
}

double BusySeconds(const v1::EngineStats& engine) {
  return engine.load_seconds() + engine.build_seconds() + engine.decode_seconds() +
         engine.send_seconds();
}

// Returns the busy share that autoscaling uses, over `seconds`.
double BusyShare(const v1::ServerStats& before, const v1::ServerStats& now, double seconds) {
  const double engine = Share(BusySeconds(now.engine()) - BusySeconds(before.engine()),
                              now.engine().capacity_seconds() - before.engine().capacity_seconds());
  return std::max(engine, Share(now.cpu_seconds() - before.cpu_seconds(), seconds * now.cores()));
}

// Returns the earlier statistics of a stream. A stream that was open before has the same peer and
// has been connected longer.
v1::StreamStats StreamBefore(const v1::ServerStats& before, const v1::StreamStats& now) {
  for (const v1::StreamStats& stream : before.stream()) {
    if (stream.peer() == now.peer() && stream.connected_seconds() < now.connected_seconds()) {
      return stream;
    }
  }
  return {};
}

ClientLoad LoadOf(const v1::StreamStats& before, const v1::StreamStats& now) {
  const double seconds = now.connected_seconds() - before.connected_seconds();
  const double per_second = seconds > 0 ? 1 / seconds : 0;
  return {.client = Printable(now.client()),
          .peer = Printable(now.peer()),
          .rows = now.rows(),
          .rows_per_second = (now.rows() - before.rows()) * per_second,
          .bytes_per_second = (now.bytes() - before.bytes()) * per_second,
          .waiting_requests = now.waiting_requests(),
          .waiting_bytes = now.waiting_bytes(),
          .slow_share = Share(now.write_wait_seconds() - before.write_wait_seconds(), seconds)};
}

// The row has 80 columns.
template <typename... Fields>
std::string Row(const Fields&... fields) {
  return Clipped(absl::StrFormat("%-21s %-8s %5s %5s %5s %4s %4s %4s %11s %4s", fields...));
}

std::string MemoryText(const ServerLoad& server) {
  return absl::StrCat(ShortBytes(server.memory_bytes), "/", ShortBytes(server.memory_budget_bytes));
}

// Returns the cause without the address, which is shown above it.
absl::string_view CauseOf(const ServerLoad& server) {
  absl::string_view cause = server.status.message();
  absl::ConsumePrefix(&cause, absl::StrCat(server.address, ": "));
  return cause;
}

std::vector<std::string> AddressesOf(const std::vector<ServerLoad>& servers) {
  std::vector<std::string> addresses;
  for (const ServerLoad& server : servers) addresses.push_back(server.address);
  return ShortAddresses(std::move(addresses), kAddressColumns);
}

std::string ServerLine(const ServerLoad& server, const std::string& address) {
  if (!server.status.ok()) return Row(address, server.state(), "", "", "", "", "", "", "", "");
  return Row(address, server.state(), ShortCount(server.rows_per_second),
             ShortBytes(server.bytes_per_second), ShortBytes(server.waiting_bytes),
             server.hit_share.has_value() ? ShortPercent(*server.hit_share) : "-",
             ShortPercent(server.busy_share), ShortCores(server.cores_used), MemoryText(server),
             ShortWhole(static_cast<double>(server.clients.size())));
}

std::string ClientLine(const ClientLoad& client) {
  const std::string name = client.client.empty() ? client.peer : client.client;
  return Clipped(absl::StrFormat(
      "  %-28s %6s %6s %6s  %d waiting, slow %s", CutInTheMiddle(name, 28),
      ShortCount(client.rows_per_second), ShortBytes(client.bytes_per_second),
      ShortBytes(client.waiting_bytes), client.waiting_requests, ShortPercent(client.slow_share)));
}

std::string TotalLine(const std::vector<ServerLoad>& servers) {
  ServerLoad total;
  size_t up = 0, clients = 0;
  for (const ServerLoad& server : servers) {
    up += server.status.ok();
    total.rows_per_second += server.rows_per_second;
    total.bytes_per_second += server.bytes_per_second;
    total.waiting_bytes += server.waiting_bytes;
    total.cores_used += server.cores_used;
    total.memory_bytes += server.memory_bytes;
    total.memory_budget_bytes += server.memory_budget_bytes;
    clients += server.clients.size();
  }
  return Row(absl::StrFormat("%d servers", servers.size()), absl::StrFormat("%d up", up),
             ShortCount(total.rows_per_second), ShortBytes(total.bytes_per_second),
             ShortBytes(total.waiting_bytes), "", "", ShortCores(total.cores_used),
             MemoryText(total), ShortWhole(static_cast<double>(clients)));
}

}  // namespace

std::string ServerLoad::state() const {
  if (!status.ok()) return "down";
  if (draining) return "draining";
  return missing_data.empty() ? "up" : "no data";
}

ServerLoad LoadBetween(const std::string& address, const absl::StatusOr<v1::ServerStats>& before,
                       const absl::StatusOr<v1::ServerStats>& now) {
  ServerLoad load = {.address = Printable(address), .status = now.status()};
  if (!now.ok()) return load;
  v1::ServerStats from;
  if (before.ok() && before->instance() == now->instance() &&
      before->uptime_seconds() < now->uptime_seconds()) {
    from = *before;
  }
  const double seconds = now->uptime_seconds() - from.uptime_seconds();
  const double per_second = seconds > 0 ? 1 / seconds : 0;
  const v1::EngineStats& engine = now->engine();
  const double hits = engine.chunk_hits() - from.engine().chunk_hits();
  const double loads = engine.chunks_loaded() - from.engine().chunks_loaded();
  load.version = Printable(now->version());
  load.draining = now->draining();
  load.missing_data = Printable(now->missing_data());
  load.uptime_seconds = now->uptime_seconds();
  load.rows_per_second = (now->totals().rows() - from.totals().rows()) * per_second;
  load.bytes_per_second = (now->totals().bytes() - from.totals().bytes()) * per_second;
  load.waiting_requests = engine.waiting_requests();
  load.waiting_bytes = engine.waiting_bytes();
  if (hits + loads > 0) load.hit_share = Share(hits, hits + loads);
  load.busy_share = BusyShare(from, *now, seconds);
  load.cores_used = (now->cpu_seconds() - from.cpu_seconds()) * per_second;
  load.memory_bytes = engine.resident_bytes();
  load.memory_budget_bytes = engine.budget_bytes();
  load.truncated_images = engine.truncated_images();
  load.image_warnings = engine.image_warnings();
  for (const v1::StreamStats& stream : now->stream()) {
    load.clients.push_back(LoadOf(StreamBefore(from, stream), stream));
  }
  return load;
}

TopTable MakeTopTable(const std::vector<ServerLoad>& servers, bool clients) {
  TopTable table;
  table.heading =
      Row("SERVER", "STATE", "ROW/S", "B/S", "QUEUE", "HIT", "BUSY", "CPU", "MEMORY", "CLI");
  const std::vector<std::string> addresses = AddressesOf(servers);
  for (size_t i = 0; i < servers.size(); ++i) {
    const ServerLoad& server = servers[i];
    TopTable::Server& shown = table.servers.emplace_back();
    shown.row = ServerLine(server, addresses[i]);
    shown.down = !server.status.ok();
    shown.cause = server.status.ok() ? server.missing_data : Printable(CauseOf(server));
    if (!clients) continue;
    for (const ClientLoad& client : server.clients) shown.clients.push_back(ClientLine(client));
  }
  if (servers.size() > 1) table.total = TotalLine(servers);
  return table;
}

std::vector<std::string> TopLines(const TopTable& table, const absl::Status& missing) {
  std::vector<std::string> lines = {table.heading};
  for (const TopTable::Server& server : table.servers) {
    lines.push_back(server.row);
    if (!server.cause.empty()) lines.push_back(CauseLine(server));
    lines.insert(lines.end(), server.clients.begin(), server.clients.end());
  }
  if (!table.total.empty()) lines.push_back(table.total);
  if (!missing.ok()) lines.push_back(MissingLine(missing));
  return lines;
}

std::string CauseLine(const TopTable::Server& server) { return absl::StrCat("  ", server.cause); }

std::string MissingLine(const absl::Status& missing) {
  return absl::StrCat("servers may be missing: ", Printable(missing.message()));
}

}  // namespace penstock
