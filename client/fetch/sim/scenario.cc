#include "client/fetch/sim/scenario.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"

namespace penstock::sim {
namespace {

// Draws from a seed, with a method for each distribution.
class Dice {
 public:
  explicit Dice(uint64_t seed) : rng_(DeriveKey(0x5ce7a210, seed)) {}

  bool Chance(double share) { return rng_.Uniform() < share; }
  // Uniform over [low, high].
  uint32_t Between(uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(rng_.Below(high - low + 1));
  }
  double Between(double low, double high) { return low + rng_.Uniform() * (high - low); }
  // Every order of magnitude is equally likely.
  double LogBetween(double low, double high) { return low * std::pow(high / low, rng_.Uniform()); }
  absl::Duration Seconds(double low, double high) { return absl::Seconds(LogBetween(low, high)); }
  uint64_t Seed() { return rng_.Next(); }

 private:
  CounterRng rng_;
};

void DrawPlan(Dice& dice, Scenario& scenario) {
  const uint32_t chunks = static_cast<uint32_t>(dice.LogBetween(1, 2'000));
  const uint32_t rows = dice.Between(1u, 40u);
  const bool uneven = dice.Chance(0.3);
  for (uint32_t i = 0; i < chunks; ++i) {
    scenario.table.rows.push_back(uneven ? dice.Between(0u, 2 * rows) : rows);
    scenario.table.bytes.push_back(scenario.table.rows.back() * 200);
  }
  scenario.table.rows[0] = std::max(scenario.table.rows[0], 1u);
  scenario.table.content_fingerprint = dice.Seed();
  scenario.plan.seed = dice.Seed();
  scenario.plan.shuffle = dice.Chance(0.85);
  scenario.plan.lanes = dice.Between(1u, 40u);
  scenario.plan.window_chunks = dice.Between(1u, 12u);
  scenario.plan.strip_rows = dice.Between(0u, 20u);
}

// More lanes than a session may have windows, and a look-ahead that wants all of them.
void DrawManyLanes(Dice& dice, Scenario& scenario) {
  const uint32_t chunks = dice.Between(1'000u, 3'000u);
  scenario.table.rows.assign(chunks, dice.Between(1u, 3u));
  scenario.table.bytes.assign(chunks, 600);
  scenario.plan.lanes = dice.Between(300u, 1'500u);
  scenario.plan.window_chunks = 1;
  scenario.rank.controller.num_slots = dice.Between(16u, 200u);
  // `hold` was drawn for another number of slots. A consumer that holds all slots waits for ever,
  // and no server is to blame.
  uint32_t& hold = scenario.rank.consumer.hold;
  hold = std::min(hold, scenario.rank.controller.num_slots - 2);
}

void DrawSteps(Dice& dice, Scenario& scenario) {
  scenario.steps.world_size = dice.Chance(0.6) ? 1 : dice.Between(2u, 4u);
  scenario.steps.global_batch_size = scenario.steps.world_size + dice.Between(0u, 200u);
  scenario.steps.remainder = static_cast<Remainder>(dice.Between(1u, 2u));
  scenario.steps.epochs = dice.Chance(0.6) ? 1 : dice.Between(2u, 3u);
  scenario.start = dice.Chance(0.3) ? dice.Between(0.0, 1.0) : 0;
}

// Called last, so that everything else that a seed draws stays the same.
void DrawEnd(Dice& dice, Scenario& scenario) {
  if (dice.Chance(0.4)) scenario.steps.remainder = Remainder::kDrop;
  if (dice.Chance(0.15)) {
    scenario.rank.controller.max_steps = static_cast<uint64_t>(dice.LogBetween(1, 500));
  }
}

void DrawRank(Dice& dice, Scenario& scenario, absl::Duration length) {
  FetchOptions& controller = scenario.rank.controller;
  controller.num_slots = dice.Between(2u, 32u);
  controller.row_bytes = 200;
  controller.fetch_bytes = dice.Between(200u, 20'000u);
  if (dice.Chance(0.3)) controller.max_outstanding_bytes = dice.Between(1'000u, 100'000u);
  controller.server_timeout = dice.Chance(0.15) ? absl::Seconds(30) : absl::Minutes(30);
  controller.silence_timeout = dice.Chance(0.5) ? absl::Seconds(10) : absl::Seconds(2);
  controller.seed = dice.Seed();
  scenario.rank.wake_delay = dice.Chance(0.5) ? absl::ZeroDuration() : dice.Seconds(1e-5, 1e-2);
  ConsumerModel& consumer = scenario.rank.consumer;
  uint64_t rows = 0;
  for (uint32_t chunk : scenario.table.rows) rows += chunk;
  const uint64_t steps = 1 + rows * scenario.steps.epochs / scenario.steps.global_batch_size;
  if (dice.Chance(0.7)) consumer.step = dice.Between(0.3, 1.5) * length / steps;
  if (dice.Chance(0.3)) consumer.hold = dice.Between(0u, controller.num_slots - 2);
  if (dice.Chance(0.2)) {
    consumer.pause_every = dice.Between(1u, 20u);
    consumer.pause = dice.Seconds(1e-3, 3);
  }
}

void DrawFleet(Dice& dice, Scenario& scenario) {
  scenario.fleet.seed = dice.Seed();
  LinkOptions& link = scenario.fleet.link;
  link.latency = dice.Seconds(1e-5, 2e-2);
  if (dice.Chance(0.7)) link.jitter = dice.Seconds(1e-5, 5e-2);
  if (dice.Chance(0.3)) link.server_bytes_per_second = dice.LogBetween(1e6, 1e9);
  if (dice.Chance(0.3)) link.rank_bytes_per_second = dice.LogBetween(1e6, 1e9);
  ServerModel model;
  model.row_cost = dice.Seconds(1e-7, 1e-4);
  model.part_rows = dice.Between(1u, 64u);
  model.store.parallel_loads = dice.Between(1u, 8u);
  model.store.seek = dice.Seconds(1e-5, 3e-2);
  model.store.idle_windows = dice.Between(0u, 64u);
  model.credit_bytes = dice.Chance(0.3) ? dice.Between(0u, 30'000u) : 1 << 20;
  const uint32_t servers = dice.Chance(0.05) ? dice.Between(16u, 40u) : dice.Between(1u, 6u);
  for (uint32_t i = 0; i < servers; ++i) {
    model.cores = dice.Between(1u, 8u);
    scenario.fleet.servers.push_back(model);
    if (i == 0 || dice.Chance(0.85)) scenario.first_servers.push_back(i);
  }
}

Manners DrawManners(Dice& dice) {
  Manners manners;
  switch (dice.Between(0u, 12u)) {
    case 0:
      manners.mute = true;
      break;
    case 1:
      manners.hello_only = true;
      break;
    case 2:
      manners.no_rows = true;
      break;
    case 3:
      manners.slow = dice.LogBetween(5, 100);
      break;
    case 4:
      manners.forget = dice.LogBetween(1e-3, 0.3);
      break;
    case 5:
      manners.repeat = dice.LogBetween(1e-2, 1);
      break;
    case 6:
      manners.stray = dice.LogBetween(1e-2, 1);
      break;
    case 7:
      manners.excess = dice.LogBetween(1e-3, 0.3);
      break;
    case 8:
      manners.overlap = dice.LogBetween(1e-3, 0.3);
      break;
    case 9:
      manners.empty = dice.LogBetween(1e-3, 0.3);
      break;
    case 10:
      manners.refuse_window = dice.Chance(0.3) ? 1 : dice.LogBetween(1e-3, 0.1);
      break;
    case 11:
      manners.refuse_fetch = dice.Chance(0.3) ? 1 : dice.LogBetween(1e-3, 0.1);
      break;
    case 12:
      manners.babble = dice.LogBetween(1e-2, 1);
      break;
  }
  if (dice.Chance(0.3)) manners.repeat = 0.1;
  if (dice.Chance(0.3)) manners.refusal = absl::ResourceExhaustedError("the budget is in use");
  return manners;
}

Fault DrawFault(Dice& dice, const Scenario& scenario, absl::Duration length) {
  Fault fault;
  fault.kind =
      static_cast<FaultKind>(dice.Between(0u, static_cast<uint32_t>(FaultKind::kNumKinds) - 1));
  if (dice.Chance(0.3)) fault.kind = FaultKind::kManners;
  fault.at = dice.Between(0.0, 1.0) * length;
  fault.lasts = dice.Chance(0.1) ? dice.Seconds(100, 1'000) : dice.Seconds(1e-3, 40);
  fault.server = dice.Between(0u, static_cast<uint32_t>(scenario.fleet.servers.size()) - 1);
  fault.rank = dice.Between(0u, scenario.steps.world_size - 1);
  fault.every_rank = dice.Chance(0.5);
  const uint32_t sides = dice.Between(0u, 2u);
  fault.to_server = sides != 1;
  fault.to_client = sides != 2;
  fault.breaks_after = dice.Chance(0.5);
  if (fault.kind == FaultKind::kManners) fault.manners = DrawManners(dice);
  return fault;
}

// All servers but one become bad at some time, and never recover.
void DrawHostileFleet(Dice& dice, Scenario& scenario, absl::Duration length) {
  const uint32_t good = dice.Between(0u, static_cast<uint32_t>(scenario.first_servers.size()) - 1);
  for (uint32_t server : scenario.first_servers) {
    if (server == scenario.first_servers[good]) continue;
    Fault fault = DrawFault(dice, scenario, length);
    if (fault.kind == FaultKind::kLeave) fault.kind = FaultKind::kVanish;
    fault.server = server;
    fault.lasts = absl::Hours(1);
    scenario.faults.push_back(fault);
  }
}

void DrawFaults(Dice& dice, Scenario& scenario, absl::Duration length) {
  if (dice.Chance(0.15)) return DrawHostileFleet(dice, scenario, length);
  const uint32_t faults = dice.Chance(0.1) ? 0 : dice.Between(1u, 10u);
  for (uint32_t i = 0; i < faults; ++i) {
    scenario.faults.push_back(DrawFault(dice, scenario, length));
  }
}

Damage DrawDamage(Dice& dice) {
  return {.shard = "a.tfrecord",
          .chunk_offset = dice.Between(0u, 100u),
          .record = dice.Between(0u, 100u),
          .rest_of_chunk = dice.Chance(0.3)};
}

// One of several servers reports damage, and the fleet has no other trouble. No server agrees.
void DrawDoubt(Dice& dice, Scenario& scenario) {
  scenario.bad_data->damage = DrawDamage(dice);
  scenario.faults.clear();
  scenario.bad_data_servers = {scenario.first_servers[0]};
  if (scenario.first_servers.size() == 1) scenario.bad_data.reset();
}

void DrawBadData(Dice& dice, Scenario& scenario) {
  BadData& data = scenario.bad_data.emplace();
  data.window = {dice.Between(0u, scenario.plan.lanes - 1), dice.Between(0u, 3u)};
  for (uint32_t i = 0; i < scenario.fleet.servers.size(); ++i) {
    scenario.bad_data_servers.push_back(i);
  }
  scenario.rank.controller.on_error = dice.Chance(0.5) ? OnError::kFail : OnError::kReplace;
  switch (dice.Between(0u, 4u)) {
    case 0:
      // Another server that has it may still come, so the rank waits for the time-out.
      data.unreadable = absl::NotFoundError("the shard is missing");
      scenario.rank.controller.server_timeout = absl::Seconds(30);
      break;
    case 1:
      data.unreadable = absl::InvalidArgumentError("the records do not fit the spec");
      break;
    case 2:
      data.deadly = true;
      scenario.may_end_with = {absl::StatusCode::kAborted};
      break;
    case 3:
      data.damage = DrawDamage(dice);
      if (scenario.rank.controller.on_error == OnError::kFail) {
        scenario.may_end_with = {absl::StatusCode::kDataLoss};
      }
      break;
    case 4:
      DrawDoubt(dice, scenario);
      break;
  }
  if (!data.unreadable.ok()) scenario.may_end_with = {data.unreadable.code()};
}

// No record of the damaged window is good, nor any record of some other chunks. With few chunks,
// all of them may be bad. With many, the runs of consecutive bad chunks are short, so that the
// search for a good one does not take long.
void DrawEmptyChunks(Dice& dice, Scenario& scenario) {
  scenario.bad_data->empty = true;
  const auto chunks = static_cast<uint32_t>(scenario.table.rows.size());
  const double share = chunks < 12 && dice.Chance(0.3) ? 1 : dice.Between(0.0, 0.6);
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    if (dice.Chance(share)) scenario.bad_data->empty_chunks.insert(chunk);
  }
}

// Makes up to half of the servers late, for most of the run.
void DrawLateness(Dice& dice, Scenario& scenario) {
  const auto servers = static_cast<uint32_t>(scenario.first_servers.size());
  if (servers < 2) return;
  const uint32_t late = dice.Between(1u, servers / 2);
  const uint32_t first = dice.Between(0u, servers - 1);
  for (uint32_t i = 0; i < late; ++i) {
    Fault fault;
    fault.kind = dice.Chance(0.5) ? FaultKind::kStall : FaultKind::kManners;
    fault.manners.slow = dice.LogBetween(5, 1'000);
    fault.at = dice.Seconds(0.01, 3);
    fault.lasts = dice.Seconds(5, 100);
    fault.server = scenario.first_servers[(first + i) % servers];
    scenario.faults.push_back(fault);
  }
}

// Makes more than half of the servers, but not all, stop or become slow at the same moment.
void DrawMajority(Dice& dice, Scenario& scenario) {
  const auto servers = static_cast<uint32_t>(scenario.first_servers.size());
  if (servers < 3) return;
  const uint32_t late = dice.Between(servers / 2 + 1, servers - 1);
  const uint32_t first = dice.Between(0u, servers - 1);
  Fault fault;
  const absl::Duration at = dice.Seconds(0.3, 3);
  fault.lasts = dice.Seconds(0.1, 100);
  fault.kind = dice.Chance(0.5) ? FaultKind::kStall : FaultKind::kManners;
  fault.manners.slow = dice.LogBetween(5, 1'000);
  for (uint32_t i = 0; i < late; ++i) {
    fault.at = at + dice.Seconds(0.001, 0.1);
    fault.server = scenario.first_servers[(first + i) % servers];
    scenario.faults.push_back(fault);
  }
}

constexpr std::array<const char*, static_cast<size_t>(FaultKind::kNumKinds)> kFaultNames = {
    "kill", "vanish", "stall", "drain", "cut", "break", "manners", "leave", "flap", "stop"};

}  // namespace

Scenario DrawScenario(uint64_t seed) {
  Dice dice(seed);
  Scenario scenario;
  scenario.seed = seed;
  const absl::Duration length = dice.Seconds(0.05, 20);
  DrawPlan(dice, scenario);
  DrawSteps(dice, scenario);
  DrawRank(dice, scenario, length);
  if (dice.Chance(0.02)) DrawManyLanes(dice, scenario);
  DrawFleet(dice, scenario);
  DrawFaults(dice, scenario, length);
  if (dice.Chance(0.1)) DrawBadData(dice, scenario);
  DrawEnd(dice, scenario);
  return scenario;
}

Scenario DrawSpares(uint64_t seed) {
  Scenario scenario = DrawScenario(seed);
  scenario.bad_data_servers.clear();
  scenario.may_end_with.clear();
  Dice dice(DeriveKey(0x57a4e, seed));
  BadData& data = scenario.bad_data.emplace();
  data.window = {dice.Between(0u, scenario.plan.lanes - 1), dice.Between(0u, 1u)};
  data.damage = DrawDamage(dice);
  for (uint32_t i = 0; i < scenario.fleet.servers.size(); ++i) {
    scenario.bad_data_servers.push_back(i);
  }
  scenario.rank.controller.on_error = OnError::kReplace;
  DrawEmptyChunks(dice, scenario);
  return scenario;
}

Scenario DrawLateServers(uint64_t seed) {
  Scenario scenario = DrawScenario(seed);
  scenario.bad_data.reset();
  scenario.bad_data_servers.clear();
  scenario.may_end_with.clear();
  scenario.faults.clear();
  scenario.rank.controller.silence_timeout = absl::Minutes(10);
  // Makes it quick to load a window again, even behind a thousand others.
  for (ServerModel& server : scenario.fleet.servers) {
    server.store.seek = std::min(server.store.seek, absl::Milliseconds(1));
  }
  Dice dice(DeriveKey(0x1a7e, seed));
  DrawLateness(dice, scenario);
  return scenario;
}

Scenario DrawHiccup(uint64_t seed) {
  Scenario scenario = DrawLateServers(seed);
  scenario.faults.clear();
  scenario.rank.controller.silence_timeout = absl::Seconds(10);
  Dice dice(DeriveKey(0x41cc, seed));
  DrawMajority(dice, scenario);
  return scenario;
}

Scenario Draw(Trouble trouble, uint64_t seed) {
  switch (trouble) {
    case Trouble::kAny:
      return DrawScenario(seed);
    case Trouble::kLateServers:
      return DrawLateServers(seed);
    case Trouble::kHiccup:
      return DrawHiccup(seed);
    case Trouble::kSpares:
      return DrawSpares(seed);
  }
  return {};
}

std::string ToString(const Scenario& scenario) {
  std::string text = absl::StrCat(
      scenario.plan.shuffle ? "shuffled" : "in order", ", ", scenario.table.rows.size(),
      " chunks in ", scenario.plan.lanes, " lanes of windows of ", scenario.plan.window_chunks,
      "; ", scenario.steps.world_size, " ranks, batches of ", scenario.steps.global_batch_size,
      ", ", scenario.steps.epochs, " epochs, ", scenario.rank.controller.num_slots, " slots; ",
      scenario.fleet.servers.size(), " servers (", scenario.first_servers.size(),
      " at first); faults:");
  for (const Fault& fault : scenario.faults) {
    absl::StrAppend(&text, " ", kFaultNames[static_cast<size_t>(fault.kind)], " of ", fault.server,
                    " at ", absl::FormatDuration(fault.at), " for ",
                    absl::FormatDuration(fault.lasts), ";");
  }
  return text;
}

}  // namespace penstock::sim
