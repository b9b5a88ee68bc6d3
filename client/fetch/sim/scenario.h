// From a seed to a whole run: a plan, a fleet, what goes wrong with it, and ranks that read.
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
  kKill,         // Streams end; refuses new ones.
  kVanish,       // Nobody is told.
  kStall,        // Accepts, and does nothing.
  kDrain,        // Says so, answers what was asked, and ends at the latest when the fault does.
  kCut,          // Nothing passes to some or all ranks, in one direction or both.
  kBreakStream,  // Of one rank.
  kManners,      // It misbehaves.
  kLeave,        // Taken from the set of servers.
  kFlap,         // Every stream of every rank breaks, and no server dies.
  kStopRank,     // Its process is stopped: what happens meanwhile it hears afterwards.
  kNumKinds,
};

struct Fault {
  FaultKind kind = FaultKind::kKill;
  absl::Duration at;
  absl::Duration lasts;
  uint32_t server = 0;
  uint32_t rank = 0;         // Of kCut, kBreakStream and kStopRank.
  bool every_rank = false;   // Of kCut.
  bool to_server = true;     // Likewise.
  bool to_client = true;     // Likewise.
  bool breaks_after = true;  // The streams, when the cut heals.
  Manners manners;           // Of kManners.
};

struct Scenario {
  uint64_t seed = 0;
  ChunkTable table;
  PlanOptions plan;
  StepOptions steps;  // Of every rank, but for the rank.
  double start = 0;   // Share of the first epoch that is skipped.
  RankOptions rank;
  FleetModel fleet;
  std::vector<uint32_t> first_servers;  // Of the set that the ranks begin with.
  std::vector<Fault> faults;
  std::optional<BadData> bad_data;
  std::vector<uint32_t> bad_data_servers;  // That have it so.
  // The codes a job may end with; beside "no server could be used" where that is so.
  std::vector<absl::StatusCode> may_end_with;
};

// What goes wrong in a fleet that is drawn.
enum class Trouble : uint8_t { kAny, kLateServers, kHiccup, kSpares };

// Everything is drawn from the seed.
Scenario DrawScenario(uint64_t seed);

// Likewise, but servers are late and nothing else goes wrong: up to half of them are stopped for a
// while or become slow. No silence is long enough to take one for lost.
Scenario DrawLateServers(uint64_t seed);

// Likewise, but more than half of them, not all, at one moment, as where a switch hiccups; and
// their silence is taken for a loss after 10 s.
Scenario DrawHiccup(uint64_t seed);

// DrawScenario() with a window none of whose records is good, on no server, and other chunks that
// have none either. Damage is replaced.
Scenario DrawSpares(uint64_t seed);

// DrawScenario(), DrawLateServers(), DrawHiccup() or DrawSpares().
Scenario Draw(Trouble trouble, uint64_t seed);

// "shuffled, 12 lanes of 230 chunks; 3 ranks, batch 77; 4 servers, 6 faults: ..."
std::string ToString(const Scenario& scenario);

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SCENARIO_H_
