#include "client/fetch/sim/simulation.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"

namespace penstock::sim {
namespace {

constexpr uint64_t kMaxEvents = 20'000'000;
// The longest time that the controller needs to see that a server is late and to get the rows from
// another. Its limit for a first load is 3 s.
constexpr absl::Duration kHandOver = absl::Seconds(4);
// Extra time to search for a spare: for each one that is tried, the only server that is up may be
// asked twice, 5 s apart.
constexpr absl::Duration kSearch = absl::Minutes(3);
constexpr absl::Duration kLong = absl::Seconds(3);

class Run {
 public:
  Run(const Scenario& scenario, const std::function<void(const std::string&)>& log)
      : scenario_(scenario), fleet_(Model(scenario, log)) {}

  Outcome Go() {
    Outcome outcome;
    if (!MakeRanks()) {
      // The epoch has fewer rows than one step, so there is nothing to read.
      outcome.finished = true;
      return outcome;
    }
    for (const Fault& fault : scenario_.faults) Schedule(fault);
    for (uint32_t server : scenario_.bad_data_servers) {
      fleet_.server(server).set_bad_data(*scenario_.bad_data);
    }
    fleet_.Run(absl::InfiniteFuture(), kMaxEvents);
    Describe(outcome);
    return outcome;
  }

 private:
  // Sets a patience that is longer than any wait with a good outcome. A silent server is given up
  // after silence_timeout. A request is given up after three times that, and then sent to another
  // server. A window that kills servers may keep them down until every rank has proved it.
  static FleetModel Model(const Scenario& scenario,
                          const std::function<void(const std::string&)>& log) {
    FleetModel model = scenario.fleet;
    model.log = log;
    model.patience = 6 * scenario.rank.controller.silence_timeout + absl::Seconds(10);
    if (scenario.bad_data && scenario.bad_data->deadly) {
      model.patience +=
          DeathsOfARank(model.servers.size()) * scenario.steps.world_size * absl::Seconds(1);
    }
    if (scenario.bad_data && scenario.bad_data->empty) model.patience += kSearch;
    // A server that has what all others lack may still come.
    if (scenario.bad_data && absl::IsNotFound(scenario.bad_data->unreadable)) {
      model.patience += scenario.rank.controller.server_timeout;
    }
    return model;
  }

  bool MakeRanks() {
    absl::StatusOr<Plan> plan = Plan::Create(scenario_.table, scenario_.plan);
    if (!plan.ok()) return false;
    plan_.emplace(*std::move(plan));
    RankOptions options = scenario_.rank;
    for (uint32_t server : scenario_.first_servers) {
      options.controller.servers.push_back(Fleet::Address(server));
    }
    members_ = scenario_.first_servers;
    if (scenario_.bad_data && scenario_.bad_data->empty) {
      options.stand_in = [this](const EpochOrder& order, WindowId id) {
        return StandIn(order, id);
      };
    }
    const auto start = static_cast<uint64_t>(scenario_.start * plan_->rows());
    for (uint32_t rank = 0; rank < scenario_.steps.world_size; ++rank) {
      StepOptions step_options = scenario_.steps;
      step_options.rank = rank;
      absl::StatusOr<Steps> steps = Steps::Create(plan_->rows(), step_options, {0, start});
      if (!steps.ok()) return false;
      expected_steps_ = steps->num_steps();
      const uint64_t max_steps = scenario_.rank.controller.max_steps;
      if (max_steps > 0) expected_steps_ = std::min(expected_steps_, max_steps);
      options.controller.seed = DeriveKey(scenario_.rank.controller.seed, rank);
      fleet_.AddRank(*plan_, *steps, options);
    }
    return true;
  }

  std::optional<uint32_t> StandIn(const EpochOrder& order, WindowId id) const {
    const BadData& data = *scenario_.bad_data;
    return data.concerns(id) ? data.StandIn(order, id) : std::nullopt;
  }

  // Whether a rank may meet a window that no chunk can replace.
  bool LacksStandIn() const {
    if (!scenario_.bad_data || !scenario_.bad_data->empty) return false;
    const auto [lane, index] = scenario_.bad_data->window;
    for (uint64_t epoch = 0; epoch <= scenario_.steps.epochs; ++epoch) {
      const EpochOrder order = plan_->Epoch(epoch);
      if (lane >= order.num_lanes() || index >= order.num_windows(lane)) continue;
      if (!StandIn(order, {epoch, lane, index})) return true;
    }
    return false;
  }

  void Schedule(const Fault& fault) {
    fleet_.queue().At(absl::UnixEpoch() + fault.at, [this, fault] { Begin(fault); });
    fleet_.queue().At(absl::UnixEpoch() + fault.at + fault.lasts, [this, fault] { End(fault); });
  }

  void Begin(const Fault& fault) {
    SimServer& server = fleet_.server(fault.server);
    const auto change = [&](const char* what, const std::function<void()>& begin) {
      fleet_.Change(fault.server, what, begin);
    };
    switch (fault.kind) {
      case FaultKind::kKill:
        return change("dies", [&] { server.Kill(absl::UnavailableError("connection reset")); });
      case FaultKind::kVanish:
        return change("vanishes", [&] { server.Vanish(); });
      case FaultKind::kStall:
        return change("stalls", [&] { server.Stall(); });
      case FaultKind::kDrain:
        return change("drains", [&] { server.Drain(fault.lasts); });
      case FaultKind::kCut:
        return change("is cut off", [&] { Cut(fault); });
      case FaultKind::kBreakStream:
        return change("loses a stream", [&] {
          server.Break(fault.rank, absl::UnavailableError("connection reset by peer"));
        });
      case FaultKind::kManners:
        return change("misbehaves", [&] { server.manners() = fault.manners; });
      case FaultKind::kLeave:
        return change("leaves the set", [&] { SetMember(fault.server, false); });
      case FaultKind::kFlap:
        return Flap();
      case FaultKind::kStopRank:
        return fleet_.rank(fault.rank).Stop(fault.lasts);
      case FaultKind::kNumKinds:
        return;
    }
  }

  void End(const Fault& fault) {
    SimServer& server = fleet_.server(fault.server);
    fleet_.Change(fault.server, "is well again", [&] {
      switch (fault.kind) {
        case FaultKind::kDrain:
          if (server.alive()) server.Kill(absl::UnavailableError("the grace has ended"));
          [[fallthrough]];
        case FaultKind::kKill:
        case FaultKind::kVanish:
          if (!server.alive()) server.Start();
          break;
        case FaultKind::kStall:
          server.Resume();
          break;
        case FaultKind::kCut:
          Heal(fault);
          break;
        case FaultKind::kManners:
          server.manners() = {};
          break;
        default:
          SetMember(fault.server, true);  // Some servers join in this way.
      }
    });
  }

  void Flap() {
    for (uint32_t server = 0; server < fleet_.num_servers(); ++server) {
      fleet_.Change(server, "loses all streams", [&] {
        for (uint32_t rank = 0; rank < fleet_.num_ranks(); ++rank) {
          fleet_.server(server).Break(rank, absl::UnavailableError("connection reset by peer"));
        }
      });
    }
  }

  void Cut(const Fault& fault) {
    for (uint32_t rank = 0; rank < fleet_.num_ranks(); ++rank) {
      if (!fault.every_rank && rank != fault.rank) continue;
      if (fault.to_server) fleet_.network().Cut(rank, fault.server, Direction::kToServer);
      if (fault.to_client) fleet_.network().Cut(rank, fault.server, Direction::kToClient);
    }
  }

  void Heal(const Fault& fault) {
    for (uint32_t rank = 0; rank < fleet_.num_ranks(); ++rank) {
      fleet_.network().Heal(rank, fault.server);
      if (fault.breaks_after) {
        fleet_.server(fault.server).Break(rank, absl::UnavailableError("connection timed out"));
      }
    }
  }

  // Adds or removes a member of the set. The last member stays.
  void SetMember(uint32_t server, bool member) {
    const bool is_member = std::find(members_.begin(), members_.end(), server) != members_.end();
    if (is_member == member || (!member && members_.size() == 1)) return;
    if (member) {
      members_.push_back(server);
    } else {
      std::erase(members_, server);
    }
    std::vector<std::string> addresses;
    for (uint32_t i : members_) addresses.push_back(Fleet::Address(i));
    for (uint32_t rank = 0; rank < fleet_.num_ranks(); ++rank) {
      fleet_.rank(rank).ChangeServers(addresses);
    }
  }

  void Describe(Outcome& outcome) {
    outcome.violation = fleet_.violation();
    outcome.elapsed = fleet_.queue().now() - absl::UnixEpoch();
    outcome.events = fleet_.queue().executed();
    outcome.finished = true;
    for (uint32_t i = 0; i < fleet_.num_ranks(); ++i) {
      const SimRank& rank = fleet_.rank(i);
      outcome.finished &= rank.finished();
      outcome.steps += rank.stats().steps;
      outcome.rows += rank.stats().rows;
      for (absl::Duration wait : rank.stats().waits) {
        outcome.longest_wait = std::max(outcome.longest_wait, wait);
      }
      outcome.hash = DeriveKey(outcome.hash, rank.commands_hash());
      if (outcome.violation.empty()) outcome.violation = CheckEnd(i, rank);
    }
    if (outcome.violation.empty()) outcome.violation = CheckDeaths();
  }

  std::string CheckEnd(uint32_t index, const SimRank& rank) {
    if (rank.finished()) {
      if (rank.stats().steps != expected_steps_) {
        return absl::StrCat("rank ", index, " ended after ", rank.stats().steps, " of ",
                            expected_steps_, " steps");
      }
      return rank.open_windows() == 0 ? "" : "windows left open at the end";
    }
    return MayFail(rank)
               ? ""
               : absl::StrCat("rank ", index, " failed without need: ", rank.failure().ToString());
  }

  std::string CheckDeaths() {
    uint64_t deaths = 0;
    for (uint32_t i = 0; i < fleet_.num_servers(); ++i) deaths += fleet_.server(i).deaths();
    if (deaths <= DeathsOfARank(fleet_.num_servers()) * fleet_.num_ranks()) return "";
    return absl::StrCat("one window killed ", deaths, " servers");
  }

  bool MayFail(const SimRank& rank) {
    const std::vector<absl::StatusCode>& may = scenario_.may_end_with;
    if (std::find(may.begin(), may.end(), rank.failure().code()) != may.end()) return true;
    if (absl::IsDataLoss(rank.failure())) return LacksStandIn();
    // Servers that cannot be reached may have the data, so the rank waits for them first.
    if (scenario_.bad_data && !scenario_.bad_data->unreadable.ok() &&
        absl::StrContains(rank.failure().message(), scenario_.bad_data->unreadable.message())) {
      return true;
    }
    // The cause may be that each server refused what it was asked for.
    if (absl::StrContains(rank.failure().message(), Manners().refusal.message()) ||
        absl::IsResourceExhausted(rank.failure())) {
      return HadNoneForLong(rank);
    }
    const bool all_may_be_refused =
        std::all_of(rank.addresses().begin(), rank.addresses().end(), [&](const auto& address) {
          return fleet_.server(fleet_.ServerAt(address)).talked_nonsense();
        });
    if (absl::StrContains(rank.failure().message(), "every server refused this client")) {
      return all_may_be_refused;
    }
    return absl::StrContains(rank.failure().message(), "no server could be used for") &&
           (all_may_be_refused || HadNoneForLong(rank));
  }

  // Whether the rank had no healthy server until a short time before it failed.
  bool HadNoneForLong(const SimRank& rank) const {
    return rank.healthy_before_failure() <=
           scenario_.rank.controller.silence_timeout + absl::Seconds(5);
  }

  // Three deaths before a window is suspected and at most ten that prove it. Before it is
  // suspected, each of the three requests may be in flight to all servers.
  static uint64_t DeathsOfARank(uint64_t servers) { return 13 + 3 * servers; }

  const Scenario& scenario_;
  std::optional<Plan> plan_;
  Fleet fleet_;
  std::vector<uint32_t> members_;
  uint64_t expected_steps_ = 0;
};

}  // namespace

Outcome Simulate(const Scenario& scenario, const std::function<void(const std::string&)>& log) {
  return Run(scenario, log).Go();
}

Outcome Simulate(Trouble trouble, uint64_t seed,
                 const std::function<void(const std::string&)>& log) {
  Scenario scenario = Draw(trouble, seed);
  Outcome outcome = Simulate(scenario, log);
  if (trouble == Trouble::kAny || trouble == Trouble::kSpares) return outcome;
  const absl::Duration hand_overs = scenario.faults.size() * kHandOver;
  scenario.faults.clear();
  const absl::Duration undisturbed = Simulate(scenario).longest_wait;
  outcome.undisturbed_wait = undisturbed;
  if (trouble == Trouble::kLateServers && outcome.violation.empty() &&
      outcome.longest_wait > undisturbed + hand_overs) {
    outcome.violation = absl::StrCat("a consumer waited ",
                                     absl::FormatDuration(outcome.longest_wait), " for a batch, ",
                                     absl::FormatDuration(undisturbed), " where no server is late");
  }
  return outcome;
}

bool WaitedLong(const Outcome& outcome) {
  return outcome.longest_wait > outcome.undisturbed_wait.value_or(absl::ZeroDuration()) + kLong;
}

std::string ReplayCommand(uint64_t seed, Trouble trouble) {
  return absl::StrCat("build/release/bin/penstock-sim --seed ", seed,
                      trouble == Trouble::kLateServers ? " --late"
                      : trouble == Trouble::kHiccup    ? " --hiccup"
                      : trouble == Trouble::kSpares    ? " --spares"
                                                       : "");
}

}  // namespace penstock::sim
