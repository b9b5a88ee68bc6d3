// Runs the scenario that a seed draws, and reports which promise was broken.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_SIMULATION_H_
#define PENSTOCK_CLIENT_FETCH_SIM_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/fetch/sim/scenario.h"

namespace penstock::sim {

struct Outcome {
  std::string violation;  // The broken promise; empty if every promise was kept.
  // Every rank got all its steps. Otherwise the job failed for a legitimate reason.
  bool finished = false;
  absl::Duration elapsed;  // Virtual time.
  uint64_t events = 0;
  uint64_t steps = 0;
  uint64_t rows = 0;
  absl::Duration longest_wait;  // Longest wait of a consumer for a batch, in virtual time.
  // The longest wait of the same run without faults. Not computed for kAny and kSpares.
  std::optional<absl::Duration> undisturbed_wait;
  // A hash over every command of every rank's controller, with its time and arguments
  // (CommandHash). The run without faults, for `undisturbed_wait`, does not count.
  uint64_t hash = 0;
};

// Promises:
//   exactly once   every delivered row is the plan's, written once, by one answer
//   stand-ins      if no record of a window is good, all ranks and servers replace its rows with a
//                  record of the same chunk: the first that follows and has a good one
//   order          steps come in the plan's order, and all of them come
//   protocol       no command breaks a rule of the server; windows and outstanding bytes stay
//                  within their limits; no action follows the end; every window is released
//   liveness       if one server is healthy for long enough, the consumer gets its batch; the
//                  controller never spins
//   honest ends    the job fails only for a cause that no server could cure
//
// `log` gets a line for each event; if it is empty, nothing is logged.
Outcome Simulate(const Scenario& scenario,
                 const std::function<void(const std::string&)>& log = nullptr);

// Simulates Draw(trouble, seed). kSpares makes the same promises as kAny. kLateServers makes one
// more: late servers make the consumer wait little longer than it would without trouble, whatever
// the time after which a silent server is given up as lost. For kHiccup this is measured but not
// promised.
Outcome Simulate(Trouble trouble, uint64_t seed,
                 const std::function<void(const std::string&)>& log = nullptr);

// Whether a consumer waited so long, in a hiccup, that it must have waited until a silent server
// was given up, and not just for a server that answers.
bool WaitedLong(const Outcome& outcome);

// Returns the command that replays Simulate(trouble, seed): "build/release/bin/penstock-sim --seed
// 17 --hiccup".
std::string ReplayCommand(uint64_t seed, Trouble trouble = Trouble::kAny);

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SIMULATION_H_
