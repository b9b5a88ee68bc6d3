// Makes a whole run from a seed: a plan, a fleet, what goes wrong with it, and ranks that read.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_SCENARIO_H_
#define PENSTOCK_CLIENT_FETCH_SIM_SCENARIO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/sim/fleet.h"
#include "client/fetch/sim/sim_rank.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock::sim {

enum class FaultKind : uint8_t {
  kKill,    // The server's streams end, and it refuses new ones.
  kVanish,  // The server is gone, and nobody is told.
  kStall,   // The server accepts everything and does nothing.
  // The server says that it drains, finishes its outstanding requests, and ends when its streams
  // have ended or when the fault ends.
  kDrain,
  kCut,          // Nothing passes to some or all ranks, in one direction or both.
  kBreakStream,  // The stream of one rank breaks.
  kManners,      // The server misbehaves.
  kLeave,        // The server is taken from the set of servers.
  kFlap,         // Every stream of every rank breaks, but no server dies.
  kStopRank,     // The rank's process is stopped. It hears afterwards what happened meanwhile.
  kNumKinds,
};

struct Fault {
  FaultKind kind = FaultKind::kKill;
  absl::Duration at;
  absl::Duration lasts;
  uint32_t server = 0;
  uint32_t rank = 0;         // Used by kCut, kBreakStream and kStopRank.
  bool every_rank = false;   // Used by kCut.
  bool to_server = true;     // Used by kCut.
  bool to_client = true;     // Used by kCut.
  bool breaks_after = true;  // Used by kCut: streams break when the cut heals.
  Manners manners;           // Used by kManners.
};

struct Scenario {
  uint64_t seed = 0;
  ChunkTable table;
  PlanOptions plan;
  StepOptions steps;  // Steps of every rank; `rank` is set to the rank's number.
  double start = 0;   // Share of the first epoch that is skipped.
  RankOptions rank;
  FleetModel fleet;
  std::vector<uint32_t> first_servers;  // The set of servers that the ranks begin with.
  std::vector<Fault> faults;
  std::optional<BadData> bad_data;
  std::vector<uint32_t> bad_data_servers;  // The servers that have `bad_data`.
  // The codes with which a job may end. It may also end with "no server could be used" if that is
  // true.
  std::vector<absl::StatusCode> may_end_with;
};

// The kind of trouble in a fleet.
enum class Trouble : uint8_t { kAny, kLateServers, kHiccup, kSpares };

// Draws everything from the seed.
Scenario DrawScenario(uint64_t seed);

// Like DrawScenario(), but servers are late and nothing else goes wrong: up to half of them are
// stopped for a while or become slow. No silence lasts long enough for a server to be given up as
// lost.
Scenario DrawLateServers(uint64_t seed);

// Like DrawLateServers(), but more than half of the servers, not all, are affected at the same
// moment, as when a switch hiccups. After 10 s of silence they are given up as lost.
Scenario DrawHiccup(uint64_t seed);

// Like DrawScenario(), with a window that has no good record on any server, and other chunks that
// have none either. Damage is replaced.
Scenario DrawSpares(uint64_t seed);

// Calls DrawScenario(), DrawLateServers(), DrawHiccup() or DrawSpares().
Scenario Draw(Trouble trouble, uint64_t seed);

// Describes the scenario in one line, for messages: plan, ranks, servers and faults.
std::string ToString(const Scenario& scenario);

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SCENARIO_H_
