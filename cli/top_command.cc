// penstock top: what servers are doing, as it changes.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "cli/top_table.h"
#include "client/servers/server_list.h"
#include "client/servers/server_source.h"
#include "client/transport/grpc/stats_call.h"
#include "records/base/status.h"
#include "records/base/timeout.h"

namespace penstock {
namespace {

constexpr absl::Duration kAnswerTimeout = absl::Seconds(2);
constexpr absl::Duration kFindTimeout = absl::Seconds(10);  // For names and files of --servers.

struct TopFlags {
  LoaderFlags network;  // Of these, the servers and how they are reached.
  std::string interval = "1s";
  bool once = false;
  bool clients = false;
  bool json = false;
};

using Answers = std::vector<absl::StatusOr<v1::ServerStats>>;

// All at once: one that does not answer costs the others nothing.
Answers AskAll(const std::vector<std::unique_ptr<StatsCaller>>& callers) {
  Answers answers(callers.size(), absl::UnknownError(""));
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < callers.size(); ++i) {
    threads.emplace_back([&, i] { answers[i] = callers[i]->Ask(kAnswerTimeout); });
  }
  threads.clear();
  return answers;
}

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
               {"hit_share", server.hit_share},
               {"busy_share", server.busy_share},
               {"cores_used", server.cores_used},
               {"memory_bytes", server.memory_bytes},
               {"memory_budget_bytes", server.memory_budget_bytes},
               {"clients", nlohmann::json::array()}});
  for (const ClientLoad& client : server.clients) json["clients"].push_back(ToJson(client));
  return json;
}

std::string NowText() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
}

// One object a line.
void PrintJson(const std::vector<ServerLoad>& loads) {
  nlohmann::json servers = nlohmann::json::array();
  for (const ServerLoad& load : loads) servers.push_back(ToJson(load));
  // Text of servers need not be UTF-8.
  std::puts(nlohmann::json({{"time", NowText()}, {"servers", servers}})
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                .c_str());
}

// On a terminal in place of what was there before.
void PrintTable(const std::vector<ServerLoad>& loads, const TopFlags& flags, bool terminal) {
  const std::vector<std::string> lines = TopLines(loads, flags.clients);
  if (!terminal) {
    std::printf("%s%s\n", flags.once ? "" : (NowText() + "\n").c_str(),
                absl::StrJoin(lines, "\n").c_str());
    return;
  }
  constexpr char kHome[] = "\x1b[H", kEndOfLine[] = "\x1b[K\n", kClearBelow[] = "\x1b[J";
  std::printf("%s%s%s%s", kHome, absl::StrJoin(lines, kEndOfLine).c_str(), kEndOfLine, kClearBelow);
}

// Returns early when a signal comes.
void WaitFor(absl::Duration time) {
  pollfd signal = {.fd = InterruptGuard::descriptor(), .events = POLLIN, .revents = 0};
  poll(&signal, 1, static_cast<int>(absl::ToInt64Milliseconds(time)));
}

absl::Status Watch(const std::vector<std::unique_ptr<StatsCaller>>& callers, const TopFlags& flags,
                   absl::Duration interval) {
  InterruptGuard interrupts;
  const bool terminal = isatty(STDOUT_FILENO) && !flags.once && !flags.json;
  if (terminal) std::fputs("\x1b[2J", stdout);
  Answers before = AskAll(callers);
  size_t down = 0;
  do {
    WaitFor(interval);
    if (!InterruptGuard::Check().ok()) break;
    Answers now = AskAll(callers);
    std::vector<ServerLoad> loads;
    down = 0;
    for (size_t i = 0; i < callers.size(); ++i) {
      loads.push_back(LoadBetween(callers[i]->address(), before[i], now[i]));
      down += !now[i].ok();
    }
    flags.json ? PrintJson(loads) : PrintTable(loads, flags, terminal);
    if (std::fflush(stdout) != 0) return ErrnoToStatus(errno, "standard output");
    before = std::move(now);
  } while (!flags.once && InterruptGuard::Check().ok());
  if (!flags.once || down == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(down, " of ", callers.size(), " servers did not answer"));
}

absl::Status Top(const TopFlags& flags) {
  const absl::Status valid = ParseServerList(flags.network.servers).status();
  if (!valid.ok()) return UsageError(valid.message());
  if (flags.network.servers == "local:") {
    return UsageError("--servers: local: is inside the reading process; give HOST:PORT");
  }
  absl::StatusOr<absl::Duration> interval = ParseTimeout(flags.interval);
  if (!interval.ok()) return UsageError(absl::StrCat("--interval: ", interval.status().message()));
  if (*interval > absl::Hours(24)) return UsageError("--interval: at most 24h");
  PENSTOCK_ASSIGN_OR_RETURN(const NetworkOptions network, ToNetworkOptions(flags.network));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                            FindServers(flags.network.servers, kFindTimeout));
  std::vector<std::unique_ptr<StatsCaller>> callers;
  for (const std::string& address : addresses) {
    callers.push_back(MakeStatsCaller(address, network));
  }
  return Watch(callers, flags, *interval);
}

}  // namespace

void AddTopCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "top",
      "Show what servers are doing, each second until Ctrl-C: rows and bytes a second sent, bytes\n"
      "of rows that clients wait for (QUEUE), chunks that were in memory when they were needed\n"
      "(HIT), how busy the engine's threads are, cores used (CPU), memory of chunks of its\n"
      "budget, and clients. Rates are of the time between two looks. Where names are too long for\n"
      "their column, the domain that all share is left out; --json has it.",
      "penstock top --servers 10.0.0.1:7070,10.0.0.2:7070\n"
      "penstock top --servers 127.0.0.1:7070 --once --json | jq '.servers[].rows_per_second'");
  auto flags = std::make_shared<TopFlags>();
  command
      .add_option("--servers", flags->network.servers,
                  "A list of HOST:PORT, dns:///HOST:PORT and file:PATH, as they are at the start")
      ->required()
      ->default_str("");
  command.add_option("--interval", flags->interval, "Time between two looks, e.g. 500ms");
  command.add_flag(
      "--once", flags->once,
      "Look twice, --interval apart; print once and end, with 1 if a server did not answer");
  command.add_flag("--clients", flags->clients, "Also a line for each client of a server");
  command.add_flag("--json", flags->json, "Print one JSON object a line, clients included");
  AddNetworkFlags(command, flags->network);
  OnRun(command, outcome, [flags] { return Top(*flags); });
}

}  // namespace penstock
