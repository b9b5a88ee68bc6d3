// Runs what a seed draws, and says which promise was broken.
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
  std::string violation;   // Empty: every promise was kept.
  bool finished = false;   // Every rank has all its steps; else the job failed, and rightly so.
  absl::Duration elapsed;  // Virtual.
  uint64_t events = 0;
  uint64_t steps = 0;
  uint64_t rows = 0;
  absl::Duration longest_wait;  // Of a consumer for a batch, virtual.
  // The same without faults; of kAny and kSpares not looked for.
  std::optional<absl::Duration> undisturbed_wait;
  // Over every command of every rank's controller, with its time and arguments (CommandHash). The
  // run without faults, which `undisturbed_wait` is from, does not count.
  uint64_t hash = 0;
};

// Promises:
//   exactly once   every delivered row is the plan's, written once, by one answer
//   stand-ins      where no record of a window is good, all ranks and servers take that of the
//                  same chunk: the first that follows and has a good one
//   order          steps come in the plan's order, all of them
//   protocol       nothing is asked that the server's rules forbid; windows and outstanding bytes
//                  stay within their limits; no action after the end; every window is released
//   liveness       where one server is healthy for long enough, the consumer gets its batch; the
//                  controller never spins
//   honest ends    the job fails only for a cause that no server could cure
// `log` gets a line for each event; empty: none.
Outcome Simulate(const Scenario& scenario,
                 const std::function<void(const std::string&)>& log = nullptr);

// Of Draw(trouble, seed), where kSpares promises what kAny does. kLateServers has one promise more:
// servers that are late make the consumer wait little longer than it does without any trouble,
// whatever the time after which a silent one is taken for lost. Of kHiccup that is told and not
// promised.
Outcome Simulate(Trouble trouble, uint64_t seed,
                 const std::function<void(const std::string&)>& log = nullptr);

// Of a hiccup, a consumer waited longer for a batch than for a server that answers: for one that is
// silent to be given up.
bool WaitedLong(const Outcome& outcome);

// Replays Simulate(trouble, seed): "build/release/bin/penstock-sim --seed 17 --hiccup".
std::string ReplayCommand(uint64_t seed, Trouble trouble = Trouble::kAny);

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SIMULATION_H_
