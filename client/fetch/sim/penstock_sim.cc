// Runs the controller in simulated fleets: one seed with a log of every event, or many seeds.
//
//   penstock-sim --seed 17                 replays it exactly, with a line for each event
//   penstock-sim --seeds 100000            takes a night; prints each seed that breaks a promise
//   penstock-sim --seeds 1000 --first 5000
//   penstock-sim --late --seeds 10000      only late servers: do consumers wait?
//   penstock-sim --hiccup --seeds 10000    most servers stop at one moment: do consumers wait long?
//   penstock-sim --spares --seeds 10000    a window and other chunks have no good record
//   penstock-sim --hashes --seeds 10000    prints each seed's hash too, to compare two builds
//
// "commands 1f2e..." is a hash over every command that the controllers gave, with its time and
// arguments. A change that only moves code does not change it.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/flags/command_line.h"
#include "base/print_escaped.h"
#include "client/fetch/sim/scenario.h"
#include "client/fetch/sim/simulation.h"

namespace penstock::sim {
namespace {

void Print(const std::string& line) { PrintEscaped(stdout, "%s\n", Multiline(line)); }

using Log = std::function<void(const std::string&)>;

std::string WaitText(const Outcome& outcome) {
  const std::string wait =
      absl::StrCat("longest wait ", absl::FormatDuration(outcome.longest_wait));
  if (!outcome.undisturbed_wait) return wait;
  return absl::StrCat(wait, ", ", absl::FormatDuration(*outcome.undisturbed_wait),
                      " without trouble");
}

std::string HashText(uint64_t hash) {
  return absl::StrCat("commands ", absl::Hex(hash, absl::kZeroPad16));
}

int Replay(uint64_t seed, Trouble trouble, bool quiet) {
  Print(ToString(Draw(trouble, seed)));
  const Outcome outcome = Simulate(trouble, seed, quiet ? Log() : Print);
  Print(absl::StrCat(outcome.finished ? "finished" : "failed", " after ",
                     absl::FormatDuration(outcome.elapsed), ", ", outcome.events, " events, ",
                     outcome.steps, " steps, ", outcome.rows, " rows; ", WaitText(outcome), "; ",
                     HashText(outcome.hash)));
  if (!outcome.violation.empty()) Print(absl::StrCat("VIOLATION ", outcome.violation));
  return outcome.violation.empty() ? 0 : 1;
}

void PrintSeed(uint64_t seed, Trouble trouble, const std::string& what) {
  Print(absl::StrCat("seed ", seed, ": ", what, "\n  ", ReplayCommand(seed, trouble)));
  std::fflush(stdout);
}

int RunMany(uint64_t first, uint64_t seeds, Trouble trouble, bool hashes) {
  uint64_t broken = 0, waited = 0, failed = 0, events = 0, rows = 0, hash = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Outcome outcome = Simulate(trouble, seed);
    failed += !outcome.finished;
    events += outcome.events;
    rows += outcome.rows;
    hash = DeriveKey(hash, outcome.hash);
    if (hashes) Print(absl::StrCat("seed ", seed, ": ", HashText(outcome.hash)));
    if (!outcome.violation.empty()) {
      ++broken;
      PrintSeed(seed, trouble, outcome.violation);
    } else if (trouble == Trouble::kHiccup && WaitedLong(outcome)) {
      ++waited;
      PrintSeed(seed, trouble, WaitText(outcome));
    }
  }
  const std::string waits =
      trouble == Trouble::kHiccup ? absl::StrCat("in ", waited, " a consumer waited long; ") : "";
  Print(absl::StrCat(seeds, " seeds, ", events, " events, ", rows, " rows delivered; ", failed,
                     " jobs ended with an error; ", waits, broken, " seeds broke a promise; ",
                     HashText(hash)));
  return broken == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("The fetch controller in simulated fleets");
  uint64_t seed = 0, seeds = 2'000, first = 0;
  bool late = false, hiccup = false, spares = false, quiet = false, hashes = false;
  CLI::Option* one = app.add_option("--seed", seed, "replay this one, with a line for each event");
  app.add_option("--seeds", seeds, "run so many")->capture_default_str();
  app.add_option("--first", first, "the first of them")->capture_default_str();
  CLI::Option* lateness = app.add_flag(
      "--late", late, "servers are late and nothing else; what a consumer waits is checked");
  CLI::Option* hiccups =
      app.add_flag("--hiccup", hiccup,
                   "most servers stop or become slow at one moment; seeds where a consumer waits "
                   "long are named")
          ->excludes(lateness);
  app.add_flag("--spares", spares, "every record of a window is damaged, and of other chunks too")
      ->excludes(lateness)
      ->excludes(hiccups);
  app.add_flag("--quiet", quiet, "with --seed: the outcome only");
  app.add_flag("--hashes", hashes,
               "without --seed: print for each seed the hash of all commands, with their times and "
               "arguments; the last line has the hash over all seeds in any case")
      ->excludes(one);
  app.footer("Example:\n  penstock-sim --first 2000 --seeds 2000\n  penstock-sim --seed 58790");
  if (const auto code = ParseCommandLine(app, "penstock-sim", argc, argv)) return *code;
  const Trouble trouble = late     ? Trouble::kLateServers
                          : hiccup ? Trouble::kHiccup
                          : spares ? Trouble::kSpares
                                   : Trouble::kAny;
  return one->count() > 0 ? Replay(seed, trouble, quiet) : RunMany(first, seeds, trouble, hashes);
}

}  // namespace
}  // namespace penstock::sim

int main(int argc, char** argv) { return penstock::sim::Main(argc, argv); }
