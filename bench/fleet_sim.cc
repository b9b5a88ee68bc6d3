// Measures how the shipped controller scales, in simulated fleets of 1 to 4,096 servers and up to
// 1,024 ranks.
//
//   fleet_sim [--json FILE] [--full] [--seed N] [--only servers|ranks|trouble|membership]
//
// Time is virtual, and a seed fixes all random numbers. So the same binary gives the same figures
// on any machine, except for scheduler_start_ms, scheduler_us_per_request and wall_seconds.
// docs/guides/scale.md describes the simulation and the results.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/command_line.h"
#include "bench/fleet_experiment.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

using nlohmann::json;

struct Options {
  bool full = false;
  uint64_t seed = 1;
  std::string only;
  std::string json_file;
};

struct Named {
  std::string group;
  std::string name;
  ExperimentOptions options;
};

ExperimentOptions Sized(uint32_t servers, uint32_t ranks, double demand) {
  ExperimentOptions options;
  options.servers = servers;
  options.ranks = ranks;
  options.demand = demand;
  return options;
}

// Adds experiments with one server to many, and one rank for every four servers, at least 1 and at
// most 64.
void AddServers(const Options& options, std::vector<Named>& out) {
  const uint32_t most = options.full ? 4096 : 256;
  for (uint32_t servers = 1; servers <= most; servers *= 2) {
    const uint32_t ranks = std::clamp(servers / 4, 1u, 64u);
    out.push_back({"servers", "greedy", Sized(servers, ranks, 0)});
    out.push_back({"servers", "60 %", Sized(servers, ranks, 0.6)});
  }
}

// Adds experiments with more and more ranks of one job on the same servers. The global batch stays
// the same.
void AddRanks(const Options& options, std::vector<Named>& out) {
  const uint32_t most = options.full ? 1024 : 256;
  for (uint32_t ranks = 1; ranks <= most; ranks *= 4) {
    ExperimentOptions one = Sized(64, ranks, 0.6);
    one.rank_batch = 32'768 / ranks;
    one.warm_up = one.length = absl::Seconds(6);
    out.push_back({"ranks", "60 %", one});
    one.demand = 0;
    out.push_back({"ranks", "greedy", one});
  }
}

void AddTrouble(const Options& options, std::vector<Named>& out) {
  for (uint32_t servers : {8u, 64u, 512u, 4096u}) {
    if (servers > 64 && !options.full) continue;
    const int64_t seconds = !options.full ? 20 : servers > 512 ? 15 : 60;
    const uint32_t ranks = std::clamp(servers / 4, 1u, 64u);
    for (Trouble trouble : {Trouble::kNone, Trouble::kStragglers, Trouble::kDeaths}) {
      ExperimentOptions one = Sized(servers, ranks, 0.6);
      one.trouble = trouble;
      one.length = absl::Seconds(seconds);
      out.push_back({"trouble",
                     trouble == Trouble::kNone         ? "none"
                     : trouble == Trouble::kStragglers ? "1 in 8 is 10 times slower"
                                                       : "1 % die per minute",
                     one});
    }
  }
}

void AddMembership(const Options& options, std::vector<Named>& out) {
  for (uint32_t servers : {4u, 16u, 64u, 256u, 1024u, 4096u}) {
    if (servers > 64 && !options.full) continue;
    for (Trouble trouble : {Trouble::kJoin, Trouble::kLeave}) {
      ExperimentOptions one = Sized(servers, std::clamp(servers / 4, 1u, 64u), 0.6);
      one.trouble = trouble;
      one.length = absl::Seconds(8);
      out.push_back({"membership", trouble == Trouble::kJoin ? "one joins" : "one leaves", one});
    }
  }
}

json ToJson(const Named& named, const ExperimentResult& result) {
  const ExperimentOptions& options = named.options;
  return {{"group", named.group},
          {"name", named.name},
          {"servers", options.servers},
          {"ranks", options.ranks},
          {"lanes", options.servers * options.lanes_per_server},
          {"demand", options.demand},
          {"seconds", absl::ToDoubleSeconds(options.length)},
          {"rows_per_second", result.rows_per_second},
          {"efficiency", result.efficiency},
          {"wait_p50_ms", result.wait_p50_ms},
          {"wait_p99_ms", result.wait_p99_ms},
          {"wait_max_ms", result.wait_max_ms},
          {"batches", result.batches},
          {"loads_per_window", result.loads_per_window},
          {"balance", result.balance},
          {"rows_per_request", result.rows_per_request},
          {"lanes_moved", result.lanes_moved},
          {"reloaded_bytes", result.reloaded_bytes},
          {"handed_over", result.handed_over},
          {"deaths", result.deaths},
          {"events", result.events},
          {"scheduler_start_ms", result.scheduler_start_ms},
          {"scheduler_us_per_request", result.scheduler_us_per_request},
          {"wall_seconds", result.wall_seconds}};
}

void PrintRow(const Named& named, const ExperimentResult& result) {
  std::printf("%-10s %-26s %6u %6u %11.0f %6.3f %8.1f %8.1f %8.1f %7.3f %7.3f %6.1f %7.2f %6.1f\n",
              named.group.c_str(), named.name.c_str(), named.options.servers, named.options.ranks,
              result.rows_per_second, result.efficiency, result.wait_p50_ms, result.wait_p99_ms,
              result.wait_max_ms, result.loads_per_window, result.balance, result.rows_per_request,
              result.scheduler_us_per_request, result.wall_seconds);
  if (named.group == "membership") {
    std::printf("%10s lanes that moved: %.4f; read again: %.1f MB\n", "", result.lanes_moved,
                result.reloaded_bytes * 1e-6);
  }
  std::fflush(stdout);
}

int Run(const Options& options) {
  std::vector<Named> experiments;
  if (options.only.empty() || options.only == "servers") AddServers(options, experiments);
  if (options.only.empty() || options.only == "ranks") AddRanks(options, experiments);
  if (options.only.empty() || options.only == "trouble") AddTrouble(options, experiments);
  if (options.only.empty() || options.only == "membership") AddMembership(options, experiments);
  std::printf("%-10s %-26s %6s %6s %11s %6s %8s %8s %8s %7s %7s %6s %7s %6s\n", "", "", "srv",
              "ranks", "rows/s", "eff.", "p50 ms", "p99 ms", "max ms", "loads/w", "balance",
              "rows/r", "us/req", "wall s");
  json results = json::array();
  for (Named& named : experiments) {
    named.options.seed = options.seed;
    const absl::StatusOr<ExperimentResult> result = RunExperiment(named.options);
    if (!result.ok()) {
      std::fprintf(stderr, "fleet_sim: %s, %u servers, %u ranks: %s\n", named.name.c_str(),
                   named.options.servers, named.options.ranks, result.status().ToString().c_str());
      return 1;
    }
    PrintRow(named, *result);
    results.push_back(ToJson(named, *result));
  }
  if (options.json_file.empty()) return 0;
  std::ofstream file(options.json_file);
  file << json{{"seed", options.seed}, {"full", options.full}, {"results", results}}.dump(1)
       << '\n';
  return file.good() ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("The fetch controller in simulated fleets of 1 to 4,096 servers");
  Options options;
  app.add_flag("--full", options.full, "Up to 4,096 servers and 1,024 ranks; takes some minutes");
  app.add_option("--seed", options.seed, "Seed of the simulation")->capture_default_str();
  app.add_option("--only", options.only, "Run one group of experiments")
      ->check(CLI::IsMember({"servers", "ranks", "trouble", "membership"}));
  app.add_option("--json", options.json_file, "Write the results to this file");
  if (const auto code = ParseCommandLine(app, "fleet_sim", argc, argv)) return *code;
  return Run(options);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
