// penstock bench: measures how fast servers feed this machine, and what limits them.
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/process/machine_limits.h"
#include "base/process/process_stats.h"
#include "base/process/shared_cpu.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/dataset_argument.h"
#include "cli/stream/bench_screen.h"
#include "cli/stream/bench_verdict.h"
#include "cli/stream/loader_flags.h"
#include "cli/stream/row_rate.h"
#include "cli/terminal/close_on_interrupt.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "client/loader/link_probe.h"
#include "client/servers/server_list.h"
#include "client/transport/grpc/server_channel.h"
#include "client/transport/grpc/stats_call.h"
#include "records/decode/program.h"

namespace penstock {
namespace {

constexpr absl::Duration kAnswerTimeout = absl::Seconds(2);
constexpr char kServersOwnManifest[] = "server:manifest.pb";

struct BenchFlags {
  LoaderFlags loader;
  double seconds = 10;
  std::string json;
};

// Counters since the start, at one moment.
struct Moment {
  absl::Time time;
  LoaderStats stats;
  double cpu_seconds = 0;             // CPU seconds of this process.
  std::vector<SharedCpu> shared_cpu;  // CPU time of all programs.
  // Statistics of each server that answered, keyed by address.
  std::map<std::string, v1::ServerStats> servers;
};

Moment Now(const Loader& loader, const NetworkOptions& network) {
  Moment now = {absl::Now(), loader.stats(), ReadProcessStats().cpu_seconds, ReadSharedCpu(), {}};
  for (const LoaderStats::Server& server : now.stats.servers) {
    if (!server.connected || server.address == kLocalServer) continue;
    absl::StatusOr<v1::ServerStats> stats =
        MakeStatsCaller(server.address, network)->Ask(kAnswerTimeout);
    if (stats.ok()) now.servers[server.address] = *std::move(stats);
  }
  return now;
}

// Fills in the work of a server's threads for all its clients. Fills in nothing if the server was
// restarted in between.
void FillEngine(const v1::ServerStats& from, const v1::ServerStats& to, ServerFigures& server) {
  const double seconds = to.uptime_seconds() - from.uptime_seconds();
  const double capacity = to.engine().capacity_seconds() - from.engine().capacity_seconds();
  if (from.instance() != to.instance() || seconds <= 0 || capacity <= 0) return;
  server.has_engine = true;
  server.engine = {
      .load = (to.engine().load_seconds() - from.engine().load_seconds()) / capacity,
      .build = (to.engine().build_seconds() - from.engine().build_seconds()) / capacity,
      .decode = (to.engine().decode_seconds() - from.engine().decode_seconds()) / capacity,
      .send = (to.engine().send_seconds() - from.engine().send_seconds()) / capacity,
      .reads = (to.engine().read_seconds() - from.engine().read_seconds()) / seconds};
  server.cores_used = (to.cpu_seconds() - from.cpu_seconds()) / seconds;
  server.cores = to.cores();
  server.read_bytes_per_second =
      static_cast<double>(to.engine().bytes_read() - from.engine().bytes_read()) / seconds;
}

// Reads batches until `deadline`. Returns false if there are no more.
absl::StatusOr<bool> ReadUntil(Loader& loader, absl::Time deadline) {
  Batch batch;
  while (absl::Now() < deadline) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader.Next(batch));
    if (!more) return false;
  }
  return true;
}

std::vector<ServerFigures> ServersBetween(const Moment& from, const Moment& to, double seconds) {
  std::vector<ServerFigures> servers;
  for (size_t i = 0; i < to.stats.servers.size(); ++i) {
    const LoaderStats::Server& now = to.stats.servers[i];
    LoaderStats::Server before;
    if (i < from.stats.servers.size()) before = from.stats.servers[i];
    servers.push_back(
        {.address = now.address,
         .connected = now.connected,
         .problem = now.problem,
         .rows_per_second = static_cast<double>(now.rows - before.rows) / seconds,
         .bytes_per_second = static_cast<double>(now.bytes - before.bytes) / seconds});
    const auto first = from.servers.find(now.address);
    const auto last = to.servers.find(now.address);
    if (first == from.servers.end() || last == to.servers.end()) continue;
    FillEngine(first->second, last->second, servers.back());
  }
  return servers;
}

BenchFigures FiguresBetween(const Moment& from, const Moment& to) {
  BenchFigures figures;
  const double seconds = absl::ToDoubleSeconds(to.time - from.time);
  const auto share = [seconds](absl::Duration before, absl::Duration now) {
    return absl::ToDoubleSeconds(now - before) / seconds;
  };
  figures.seconds = seconds;
  figures.rows_per_second = static_cast<double>(to.stats.rows - from.stats.rows) / seconds;
  figures.bytes_per_second = static_cast<double>(to.stats.bytes - from.stats.bytes) / seconds;
  figures.wait_share = share(from.stats.wait, to.stats.wait);
  figures.copy_share = share(from.stats.copying, to.stats.copying);
  figures.deciding_share = share(from.stats.scheduling, to.stats.scheduling);
  figures.cores_used = (to.cpu_seconds - from.cpu_seconds) / seconds;
  figures.cores = ReadMachineLimits().cores;
  figures.cpu = MostUsedCpu(from.shared_cpu, to.shared_cpu, seconds);
  figures.servers = ServersBetween(from, to, seconds);
  return figures;
}

// Returns the path of the rows. Only servers that sent rows count.
Path PathOf(const std::vector<LoaderStats::Server>& servers) {
  bool shared = true, near = true;
  for (const LoaderStats::Server& server : servers) {
    if (server.address == kLocalServer) return Path::kLocal;
    if (server.rows == 0) continue;
    shared = shared && server.shared_memory == "ok";
    near = near && IsLoopbackAddress(server.address);
  }
  return shared ? Path::kSharedMemory : near ? Path::kLoopback : Path::kNetwork;
}

BenchSetup SetupOf(const LoaderOptions& options, const LoaderStats& stats) {
  BenchSetup setup{
      .path = PathOf(stats.servers),
      .packed_is_smaller =
          DefaultDtype(options.spec.message()) == WireDtype::kPacked &&
          RowsAreSmaller(options.spec.message(), WireDtype::kPacked, options.dtype),
      .i8_is_smaller = RowsAreSmaller(options.spec.message(), WireDtype::kI8, options.dtype),
      .connections = options.network.connections,
      .shared_memory = options.network.shared_memory,
      .threads = options.local_threads};
  for (const LoaderStats::Server& server : stats.servers) {
    if (!server.no_further_connection.empty()) {
      setup.no_connection_because = server.no_further_connection;
    }
    if (server.shared_memory.empty() || server.shared_memory == "ok") continue;
    setup.no_shared_memory_because = server.shared_memory;
  }
  return setup;
}

// Returns the error for `options` that end the stream too early.
absl::Status TooSoon(const LoaderOptions& options) {
  std::vector<std::string> ways;
  if (options.max_steps > 0) ways.push_back("more --steps");
  if (options.epochs > 0) ways.push_back("more --epochs");
  return UsageError(absl::StrCat("the batches ended too soon to be measured: give ",
                                 absl::StrJoin(ways, " and "), ", or leave ",
                                 ways.size() == 1 ? "it" : "them", " out to read without end"));
}

// Measures a stream. Does not count the first batch and the first tenth of the time, which include
// connecting and first reads.
absl::StatusOr<BenchFigures> MeasureStream(const LoaderOptions& options, absl::Duration time) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(options));
  PENSTOCK_ASSIGN_OR_RETURN(const auto close, CloseOnInterrupt::Start(*loader));
  {
    Batch first;
    PENSTOCK_RETURN_IF_ERROR(loader->Next(first).status());
  }
  PENSTOCK_RETURN_IF_ERROR(ReadUntil(*loader, absl::Now() + time / 10).status());
  const Moment from = Now(*loader, options.network);
  PENSTOCK_ASSIGN_OR_RETURN(const bool more, ReadUntil(*loader, from.time + time));
  const Moment to = Now(*loader, options.network);
  if (!more && to.stats.rows == from.stats.rows) {
    return TooSoon(options);
  }
  BenchFigures figures = FiguresBetween(from, to);
  figures.setup = SetupOf(options, to.stats);
  if (figures.setup.path == Path::kLocal) figures.servers.clear();
  return figures;
}

// Probes the servers that sent rows, with rows of this dtype and with the largest rows, because
// small rows cost servers more per byte. Returns 0 if the link could not be measured.
double MeasureLink(const LoaderOptions& options, const BenchFigures& figures, absl::Duration time) {
  std::vector<std::string> addresses;
  for (const ServerFigures& server : figures.servers) {
    if (server.rows_per_second > 0) addresses.push_back(server.address);
  }
  double best = 0;
  if (addresses.empty()) return best;
  for (WireDtype dtype : {options.dtype, WireDtype::kF32}) {
    const absl::StatusOr<double> rate = ProbeLink(options, dtype, addresses, time);
    if (rate.ok()) best = std::max(best, *rate);
    if (!rate.ok()) PrintEscaped(stderr, "penstock: link: %s\n", rate.status().message());
  }
  return best;
}

nlohmann::json ToJson(const ServerFigures& server, absl::string_view rows_name) {
  nlohmann::json json = {{"address", server.address},
                         {"connected", server.connected},
                         {"problem", server.problem},
                         {"bytes_per_second", server.bytes_per_second}};
  AddRate(server.rows_per_second, rows_name, json);
  if (!server.has_engine) return json;
  json["load_share"] = server.engine.load;
  json["build_share"] = server.engine.build;
  json["decode_share"] = server.engine.decode;
  json["send_share"] = server.engine.send;
  json["idle_share"] = server.engine.idle();
  json["reads_under_way"] = server.engine.reads;
  json["cores_used"] = server.cores_used;
  json["cores"] = server.cores;
  json["read_bytes_per_second"] = server.read_bytes_per_second;
  return json;
}

nlohmann::json ToJson(const BenchFigures& figures, const BenchVerdict& verdict) {
  nlohmann::json servers = nlohmann::json::array();
  for (const ServerFigures& server : figures.servers) {
    servers.push_back(ToJson(server, figures.rows_name));
  }
  nlohmann::json json = {{"seconds", figures.seconds},
                         {"bytes_per_second", figures.bytes_per_second},
                         {"link_bytes_per_second", figures.link_bytes_per_second},
                         {"link_probe_disturbed", figures.link_probe_disturbed()},
                         {"path", PathName(figures.setup.path)},
                         {"wait_share", figures.wait_share},
                         {"copy_share", figures.copy_share},
                         {"deciding_share", figures.deciding_share},
                         {"cores_used", figures.cores_used},
                         {"cores", figures.cores},
                         {"machine_cores_used", figures.cpu.busy_cores},
                         {"machine_cores", figures.cpu.cores},
                         {"servers", servers},
                         {"limit", LimitName(verdict.limit)},
                         {"verdict", verdict.text}};
  AddRate(figures.rows_per_second, figures.rows_name, json);
  return json;
}

// Opens the manifest of this name or, if it is empty, the servers' own manifest.
absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifest(const std::string& name,
                                                             const LoaderOptions& options) {
  if (!name.empty()) return OpenManifestArgument(name, options);
  if (options.servers == kLocalServer) {
    return UsageError("no dataset given; with --servers local: name DIR or MANIFEST");
  }
  auto manifest = OpenManifestArgument(kServersOwnManifest, options);
  if (!absl::IsNotFound(manifest.status())) return manifest;
  return absl::NotFoundError(
      absl::StrCat(manifest.status().message(), "; give another manifest with --manifest"));
}

absl::Status RunBench(const BenchFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(LoaderOptions options, ToLoaderOptions(flags.loader));
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  PENSTOCK_ASSIGN_OR_RETURN(options.manifest, OpenManifest(flags.loader.manifest, options));
  PENSTOCK_RETURN_IF_ERROR(ChooseSpecOf(options, flags.loader.dtype));
  InterruptGuard interrupts;
  const absl::Duration time = absl::Seconds(flags.seconds);
  if (ProgressOptions::IsTerminal()) {
    PrintEscaped(stderr, "measuring for %s s ...\n", absl::StrCat(flags.seconds));
  }
  absl::StatusOr<BenchFigures> figures = MeasureStream(options, time);
  PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
  if (!figures.ok()) return UsageErrorOf(figures.status());
  figures->rows_name = RowsName(options.manifest->features());
  figures->link_bytes_per_second = MeasureLink(options, *figures, time / 10);
  PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
  const BenchVerdict verdict = Judge(*figures);
  if (flags.json != kStandardOutput) {
    for (const std::string& line : BenchLines(*figures, verdict)) {
      PrintEscaped(stdout, "%s\n", line);
    }
  }
  if (flags.json.empty()) return absl::OkStatus();
  return WriteJson(flags.json, JsonText(ToJson(*figures, verdict), 2));
}

}  // namespace

void AddBenchCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "bench",
      "Measure how fast batches can be read. It prints the rate, what this link could carry, where "
      "the time goes here and on the servers, what limits the rate, and what would help. To "
      "measure the link, it asks for the same few rows again and again and drops the answers.",
      "penstock bench --servers 10.0.0.1:7070,10.0.0.2:7070\n"
      "penstock bench data/manifest.pb --servers dns:///penstock:7070 \\\n"
      "    --dtype i8 --seconds 30 --json -");
  command.group("Read");
  auto flags = std::make_shared<BenchFlags>();
  flags->loader.epochs = 0;
  AddLoaderFlags(command, flags->loader);
  AddStepsFlag(command, flags->loader);
  CLI::Option& manifest = *command.get_option("--manifest");
  manifest.description(
      absl::StrCat(manifest.get_description(), "; absent: ", kServersOwnManifest, " of --servers"));
  command.add_option("--seconds", flags->seconds, "Time to measure, in seconds")
      ->check(Number(0.01, 86400))
      ->type_name("SECONDS")
      ->group("Options");
  AddJsonFlag(command, flags->json, "Write the result");
  OnRun(command, outcome, [flags] { return RunBench(*flags); });
}

}  // namespace penstock
