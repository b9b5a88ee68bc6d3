// Runs the scheduler in simulated fleets: one seed with everything that happens, or many.
//
//   penstock-sim --seed 17                 replays it exactly, with a line for each event
//   penstock-sim --seeds 100000            a night's work; prints each seed that breaks a promise
//   penstock-sim --seeds 1000 --first 5000
//   penstock-sim --late --seeds 10000      servers that are late and nothing else, and who waits
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/fetch/sim/scenario.h"
#include "client/fetch/sim/simulation.h"
#include "flags/command_line.h"

namespace penstock::sim {
namespace {

void Print(const std::string& line) { std::printf("%s\n", line.c_str()); }

using Log = std::function<void(const std::string&)>;

Outcome RunSeed(uint64_t seed, bool late, const Log& log = nullptr) {
  return late ? SimulateLateServers(seed, log) : Simulate(DrawScenario(seed), log);
}

int Replay(uint64_t seed, bool late, bool quiet) {
  Print(ToString(late ? DrawLateServers(seed) : DrawScenario(seed)));
  const Outcome outcome = RunSeed(seed, late, quiet ? Log() : Print);
  Print(absl::StrCat(outcome.finished ? "finished" : "failed", " after ",
                     absl::FormatDuration(outcome.elapsed), ", ", outcome.events, " events, ",
                     outcome.steps, " steps, ", outcome.rows, " rows; longest wait ",
                     absl::FormatDuration(outcome.longest_wait)));
  if (!outcome.violation.empty()) Print(absl::StrCat("VIOLATION ", outcome.violation));
  return outcome.violation.empty() ? 0 : 1;
}

int RunMany(uint64_t first, uint64_t seeds, bool late) {
  uint64_t broken = 0, failed = 0, events = 0, rows = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Outcome outcome = RunSeed(seed, late);
    failed += !outcome.finished;
    events += outcome.events;
    rows += outcome.rows;
    if (outcome.violation.empty()) continue;
    ++broken;
    Print(absl::StrCat("seed ", seed, ": ", outcome.violation, "\n  ", ReplayCommand(seed),
                       late ? " --late" : ""));
    std::fflush(stdout);
  }
  Print(absl::StrCat(seeds, " seeds, ", events, " events, ", rows, " rows delivered; ", failed,
                     " jobs ended with an error; ", broken, " seeds broke a promise"));
  return broken == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("The fetch scheduler in simulated fleets");
  uint64_t seed = 0, seeds = 2'000, first = 0;
  bool late = false, quiet = false;
  CLI::Option* one = app.add_option("--seed", seed, "replay this one, with a line for each event");
  app.add_option("--seeds", seeds, "run so many")->capture_default_str();
  app.add_option("--first", first, "the first of them")->capture_default_str();
  app.add_flag("--late", late,
               "servers are late and nothing else; what a consumer waits is checked");
  app.add_flag("--quiet", quiet, "with --seed: the outcome only");
  app.footer("Example:\n  penstock-sim --first 2000 --seeds 2000\n  penstock-sim --seed 58790");
  if (const auto code = ParseCommandLine(app, "penstock-sim", argc, argv)) return *code;
  return one->count() > 0 ? Replay(seed, late, quiet) : RunMany(first, seeds, late);
}

}  // namespace
}  // namespace penstock::sim

int main(int argc, char** argv) { return penstock::sim::Main(argc, argv); }
