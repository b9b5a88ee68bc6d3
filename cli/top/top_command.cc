// penstock top: shows what servers are doing, again and again.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/flags/json_flag.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/process/process_limits.h"
#include "base/process/standard_streams.h"
#include "base/status.h"
#include "base/timeout.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/top/top_screen.h"
#include "cli/top/top_table.h"
#include "cli/top/top_watch.h"
#include "client/flags/network_flags.h"
#include "client/servers/known_servers.h"
#include "client/servers/server_list.h"

namespace penstock {
namespace {

// Time limit for resolving names and reading files of --servers.
constexpr absl::Duration kFindTimeout = absl::Seconds(10);

struct TopFlags {
  std::string servers;
  NetworkFlags network;
  std::string interval = "1s";
  bool once = false;
  bool clients = false;
  std::string json;
};

nlohmann::json ToJson(const ClientLoad& client) {
  return {{"client", client.client},
          {"peer", client.peer},
          {"rows", client.rows},
          {"rows_per_second", client.rows_per_second},
          {"bytes_per_second", client.bytes_per_second},
          {"waiting_requests", client.waiting_requests},
          {"waiting_bytes", client.waiting_bytes},
          {"slow_share", client.slow_share}};
}

nlohmann::json ToJson(const ServerLoad& server) {
  nlohmann::json json = {{"address", server.address}, {"state", server.state()}};
  if (!server.status.ok()) {
    json["error"] = std::string(server.status.message());
    return json;
  }
  json.update({{"version", server.version},
               {"uptime_seconds", server.uptime_seconds},
               {"rows_per_second", server.rows_per_second},
               {"bytes_per_second", server.bytes_per_second},
               {"waiting_requests", server.waiting_requests},
               {"waiting_bytes", server.waiting_bytes},
               {"busy_share", server.busy_share},
               {"cores_used", server.cores_used},
               {"memory_bytes", server.memory_bytes},
               {"memory_budget_bytes", server.memory_budget_bytes},
               {"truncated_images", server.truncated_images},
               {"image_warnings", server.image_warnings},
               {"missing_data", server.missing_data},
               {"clients", nlohmann::json::array()}});
  json["hit_share"] = server.hit_share.has_value() ? nlohmann::json(*server.hit_share) : nullptr;
  for (const ClientLoad& client : server.clients) json["clients"].push_back(ToJson(client));
  return json;
}

std::string NowText() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
}

std::string ToJson(const std::vector<ServerLoad>& loads, const absl::Status& missing) {
  nlohmann::json json = {{"time", NowText()}, {"servers", nlohmann::json::array()}};
  for (const ServerLoad& load : loads) json["servers"].push_back(ToJson(load));
  if (!missing.ok()) json["missing"] = std::string(missing.message());
  return JsonText(json);
}

// Draws over the previous screen. Erases each line before its text is written, because after a line
// as wide as the terminal the cursor is still on the last character.
void Draw(const std::vector<std::string>& lines) {
  PrintEscaped(stdout, "\x1b[H");
  for (const std::string& line : lines) PrintEscaped(stdout, "\x1b[K%s\n", line);
  PrintEscaped(stdout, "\x1b[J");
}

void PrintTable(const TopWatch& watch, const TopFlags& flags, bool terminal) {
  const TopTable table = MakeTopTable(watch.loads(), flags.clients);
  // The terminal may have changed its size since the last time.
  if (terminal) return Draw(TopScreen(table, watch.missing(), SizeOfTerminal(STDOUT_FILENO)));
  if (!flags.once) PrintEscaped(stdout, "%s\n", NowText());
  for (const std::string& line : TopLines(table, watch.missing())) {
    PrintEscaped(stdout, "%s\n", line);
  }
}

// Returns early when a signal comes.
void WaitFor(absl::Duration time) {
  pollfd signal = {.fd = InterruptGuard::descriptor(), .events = POLLIN, .revents = 0};
  poll(&signal, 1, static_cast<int>(absl::ToInt64Milliseconds(time)));
}

absl::Status Print(const TopWatch& watch, const TopFlags& flags, bool terminal) {
  if (flags.json != kStandardOutput) PrintTable(watch, flags, terminal);
  if (!flags.json.empty()) {
    PENSTOCK_RETURN_IF_ERROR(WriteJson(flags.json, ToJson(watch.loads(), watch.missing())));
  }
  return FlushStandardOutput();
}

absl::Status Run(TopWatch& watch, const TopFlags& flags, absl::Duration interval) {
  InterruptGuard interrupts;
  const bool terminal = isatty(STDOUT_FILENO) && !flags.once && flags.json != kStandardOutput;
  if (terminal) PrintEscaped(stdout, "\x1b[2J");
  watch.Look();
  do {
    WaitFor(interval);
    if (absl::Status interrupted = InterruptGuard::Check(); !interrupted.ok()) {
      // Without --once, users end the command in this way.
      return flags.once ? interrupted : absl::OkStatus();
    }
    watch.Look();
    PENSTOCK_RETURN_IF_ERROR(Print(watch, flags, terminal));
  } while (!flags.once && InterruptGuard::Check().ok() && !OutputReaderHasGone());
  return flags.once ? watch.health() : absl::OkStatus();
}

absl::StatusOr<NetworkOptions> CheckedNetwork(const NetworkFlags& flags) {
  absl::StatusOr<NetworkOptions> network = ToNetworkOptions(flags);
  absl::Status status = network.status();
  std::vector<std::string> warnings;
  if (status.ok()) status = CheckNetworkFiles(*network, warnings);
  if (!status.ok()) return UsageError(status.message());
  PrintWarnings(warnings);
  return network;
}

absl::Status Top(const TopFlags& flags) {
  const absl::Status valid = ParseServerList(flags.servers).status();
  if (!valid.ok()) return UsageError(valid.message());
  if (flags.servers == "local:") {
    return UsageError("--servers local: has no server to watch; give HOST:PORT");
  }
  absl::StatusOr<absl::Duration> interval = ParseTimeout(flags.interval);
  if (!interval.ok()) return UsageError(absl::StrCat("--interval: ", interval.status().message()));
  if (*interval > absl::Hours(24)) return UsageError("--interval: at most 24h");
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  PENSTOCK_RETURN_IF_ERROR(CheckLimitsForGrpc());
  PENSTOCK_ASSIGN_OR_RETURN(const NetworkOptions network, CheckedNetwork(flags.network));
  PENSTOCK_ASSIGN_OR_RETURN(const auto servers, KnownServers::Follow(flags.servers));
  PENSTOCK_RETURN_IF_ERROR(servers->WaitForFirst(kFindTimeout).status());
  TopWatch watch(*servers, network);
  return Run(watch, flags, *interval);
}

}  // namespace

void AddTopCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "top",
      "Show what servers are doing, live. It prints their rates, queues, cache hits, load, memory "
      "and clients each second until Ctrl-C. docs/guides/watching.md explains the columns.",
      "penstock top --servers 10.0.0.1:7070,10.0.0.2:7070\n"
      "penstock top --servers 127.0.0.1:7070 --once --json - | \\\n"
      "    jq '.servers[].rows_per_second'",
      "Exit codes:\n"
      "  0: It showed all servers, or Ctrl-C ended the live table.\n"
      "  1: With --once a server did not answer, or a name or file of --servers could not be "
      "read.");
  command.group("Run");
  auto flags = std::make_shared<TopFlags>();
  command
      .add_option("--servers", flags->servers,
                  "Servers to watch: HOST:PORT, dns:///HOST:PORT or file:PATH, separated by commas")
      ->type_name("LIST")
      ->required()
      ->default_str("");
  command.add_option("--interval", flags->interval, "Time between two looks, such as 500ms")
      ->type_name("TIME");
  command.add_flag("--once", flags->once,
                   "Print once, after two looks --interval apart; exit with 1 if a server did not "
                   "answer or --servers could not be read");
  command.add_flag("--clients", flags->clients, "Show a line for each client of a server too");
  AddJsonFlag(command, flags->json, "")
      ->description(
          "Write the last look as JSON to FILE, clients included; - is standard output, with a "
          "line "
          "for each look instead of the text")
      ->group("Options");
  AddNetworkFlags(command, flags->network);
  OnRun(command, outcome, [flags] { return Top(*flags); });
}

}  // namespace penstock
