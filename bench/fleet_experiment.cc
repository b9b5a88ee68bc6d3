#include "bench/fleet_experiment.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "client/fetch/sim/fleet.h"
#include "client/fetch/sim/scale_server.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock {
namespace {

constexpr uint32_t kChunkRows = 64;
constexpr uint32_t kWindowChunks = 16;
constexpr double kServerRowsPerSecond = 2'000;
constexpr absl::Duration kBackAfter = absl::Seconds(15);

double Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Counters at the end of the warm-up.
struct Before {
  uint64_t requests = 0;
  size_t batches = 0;
  std::chrono::nanoseconds controller_time = {};
};

class Experiment {
 public:
  explicit Experiment(const ExperimentOptions& options)
      : options_(options),
        fleet_(MakeFleet(options)),
        plan_(*Plan::Create(MakeTable(), {.seed = options.seed,
                                          .lanes = options.lanes_per_server * options.servers,
                                          .window_chunks = kWindowChunks,
                                          .strip_rows = 16})) {
    for (uint32_t i = 0; i < fleet_.num_servers(); ++i) {
      fleet_.server(i).set_load_records(&loads_);
      if (i < options.servers + (options.trouble == Trouble::kLeave)) members_.push_back(i);
    }
    for (uint32_t i = 0; i < options.ranks; ++i) AddRank(i);
    middle_ = absl::UnixEpoch() + options.warm_up + options.length / 2;
  }

  ExperimentResult Run() {
    const auto start = std::chrono::steady_clock::now();
    MakeTrouble();
    fleet_.queue().At(absl::UnixEpoch() + options_.warm_up, [this] { EndWarmUp(); });
    fleet_.Run(absl::UnixEpoch() + options_.warm_up + options_.length);
    ExperimentResult result;
    result.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Count(result);
    CountWaits(result);
    CountLoads(result);
    return result;
  }

  const std::string& violation() const { return fleet_.violation(); }

 private:
  static sim::FleetModel MakeFleet(const ExperimentOptions& options) {
    sim::FleetModel model;
    const bool spare = options.trouble == Trouble::kJoin || options.trouble == Trouble::kLeave;
    model.servers.assign(options.servers + spare, sim::ScaleServer());
    model.link.jitter = absl::Microseconds(100);
    model.link.rank_bytes_per_second = 12e9;
    model.seed = options.seed;
    return model;
  }

  double Capacity() const { return kServerRowsPerSecond * options_.servers; }

  // The table has 1.5 times the rows that can be read.
  ChunkTable MakeTable() const {
    const double seconds = absl::ToDoubleSeconds(options_.warm_up + options_.length);
    const double rows = 1.5 * Capacity() * seconds + 40.0 * options_.rank_batch * options_.ranks;
    const auto chunks = static_cast<uint32_t>(rows / kChunkRows) + 1;
    return {std::vector<uint32_t>(chunks, kChunkRows),
            std::vector<uint32_t>(chunks, kChunkRows * sim::kScaleRowBytes), options_.seed};
  }

  void AddRank(uint32_t rank) {
    sim::RankOptions options;
    options.controller.servers = Addresses();
    options.controller.num_slots = 32;
    options.controller.row_bytes = sim::kScaleRowBytes;
    options.controller.seed = options_.seed + rank;
    options.check = false;
    options.stopwatch = rank == 0;
    if (options_.demand > 0) {
      options.consumer.step = absl::Seconds(static_cast<double>(options_.rank_batch) *
                                            options_.ranks / (options_.demand * Capacity()));
    }
    const StepOptions step_options{.global_batch_size = options_.rank_batch * options_.ranks,
                                   .rank = rank,
                                   .world_size = options_.ranks};
    fleet_.AddRank(plan_, *Steps::Create(plan_.rows(), step_options), options);
  }

  std::vector<std::string> Addresses() const {
    std::vector<std::string> addresses;
    for (uint32_t server : members_) addresses.push_back(sim::Fleet::Address(server));
    return addresses;
  }

  void MakeTrouble() {
    switch (options_.trouble) {
      case Trouble::kNone:
        return;
      case Trouble::kStragglers:
        for (uint32_t i = 7; i < options_.servers; i += 8) fleet_.server(i).manners().slow = 10;
        return;
      case Trouble::kDeaths:
        return PlanDeaths();
      case Trouble::kJoin:
        return fleet_.queue().At(middle_, [this] { ChangeServers(options_.servers + 1); });
      case Trouble::kLeave:
        return fleet_.queue().At(middle_, [this] { ChangeServers(options_.servers); });
    }
  }

  void ChangeServers(uint32_t servers) {
    members_.clear();
    for (uint32_t i = 0; i < servers; ++i) members_.push_back(i);
    for (uint32_t i = 0; i < fleet_.num_ranks(); ++i) fleet_.rank(i).ChangeServers(Addresses());
  }

  // Plans deaths at equal intervals, so that runs of any length have their share, but at least one.
  void PlanDeaths() {
    const double minutes = absl::ToDoubleMinutes(options_.length);
    deaths_ = std::max<uint64_t>(1, static_cast<uint64_t>(0.01 * options_.servers * minutes));
    for (uint64_t i = 0; i < deaths_; ++i) {
      const absl::Time at =
          absl::UnixEpoch() + options_.warm_up + options_.length * ((i + 0.5) / deaths_);
      const auto server = static_cast<uint32_t>(DeriveKey(options_.seed, i) % options_.servers);
      fleet_.queue().At(at, [this, server] {
        fleet_.server(server).Kill(absl::UnavailableError("connection reset"));
      });
      fleet_.queue().At(at + kBackAfter, [this, server] { fleet_.server(server).Start(); });
    }
  }

  void EndWarmUp() {
    for (uint32_t i = 0; i < fleet_.num_ranks(); ++i) {
      const sim::RankStats& stats = fleet_.rank(i).stats();
      before_.push_back({stats.requests, stats.waits.size(), fleet_.rank(i).controller_time()});
    }
    for (uint32_t i = 0; i < fleet_.num_servers(); ++i) {
      sent_before_.push_back(fleet_.server(i).rows_sent());
    }
  }

  void Count(ExperimentResult& result) {
    uint64_t rows = 0, requests = 0;
    for (uint32_t i = 0; i < fleet_.num_ranks(); ++i) {
      rows += (fleet_.rank(i).stats().waits.size() - before_[i].batches) * options_.rank_batch;
      requests += fleet_.rank(i).stats().requests - before_[i].requests;
      const ServerTable& servers = fleet_.rank(i).controller().servers();
      for (size_t s = 0; s < servers.size(); ++s) {
        result.handed_over += servers[s].counted.handed_over;
      }
    }
    result.rows_per_second = rows / absl::ToDoubleSeconds(options_.length);
    result.efficiency = result.rows_per_second / Capacity();
    result.rows_per_request = requests > 0 ? static_cast<double>(rows) / requests : 0;
    result.balance = Balance();
    result.deaths = deaths_;
    result.events = fleet_.queue().executed();
    const sim::SimRank& first = fleet_.rank(0);
    result.scheduler_us_per_request =
        Milliseconds(first.controller_time() - before_[0].controller_time) * 1e3 /
        std::max<uint64_t>(first.stats().requests - before_[0].requests, 1);
    result.scheduler_start_ms = Milliseconds(before_[0].controller_time);
  }

  double Balance() {
    uint64_t sum = 0, most = 0;
    for (uint32_t i = 0; i < options_.servers; ++i) {
      const uint64_t sent = fleet_.server(i).rows_sent() - sent_before_[i];
      sum += sent;
      most = std::max(most, sent);
    }
    return most == 0 ? 0 : static_cast<double>(sum) / options_.servers / most;
  }

  // A wait that has not ended counts with its length so far.
  void CountWaits(ExperimentResult& result) {
    std::vector<double> waits;
    for (uint32_t i = 0; i < fleet_.num_ranks(); ++i) {
      const sim::SimRank& rank = fleet_.rank(i);
      for (size_t w = before_[i].batches; w < rank.stats().waits.size(); ++w) {
        waits.push_back(absl::ToDoubleMilliseconds(rank.stats().waits[w]));
      }
      if (rank.starving_since()) {
        waits.push_back(absl::ToDoubleMilliseconds(fleet_.queue().now() - *rank.starving_since()));
      }
    }
    result.batches = waits.size();
    if (waits.empty()) return;
    std::sort(waits.begin(), waits.end());
    result.wait_p50_ms = waits[waits.size() / 2];
    result.wait_p99_ms = waits[waits.size() * 99 / 100];
    result.wait_max_ms = waits.back();
  }

  void CountLoads(ExperimentResult& result) {
    std::set<WindowId> windows;
    std::map<uint32_t, uint32_t> lane_before, lane_after;
    for (const sim::LoadRecord& load : loads_) {
      const bool again = !windows.insert(load.window).second;
      (load.at < middle_ ? lane_before : lane_after)[load.window.lane] = load.server;
      if (again && load.at >= middle_) result.reloaded_bytes += load.rows * sim::kScaleRowBytes;
    }
    if (windows.empty()) return;
    result.loads_per_window = static_cast<double>(loads_.size()) / windows.size();
    uint64_t both = 0, moved = 0;
    for (const auto& [lane, server] : lane_after) {
      const auto before = lane_before.find(lane);
      if (before == lane_before.end()) continue;
      ++both;
      moved += before->second != server;
    }
    if (both > 0) result.lanes_moved = static_cast<double>(moved) / both;
  }

  const ExperimentOptions options_;
  sim::Fleet fleet_;
  const Plan plan_;
  std::vector<uint32_t> members_;
  absl::Time middle_;
  std::vector<Before> before_;         // One for each rank.
  std::vector<uint64_t> sent_before_;  // One for each server.
  std::vector<sim::LoadRecord> loads_;
  uint64_t deaths_ = 0;
};

}  // namespace

absl::StatusOr<ExperimentResult> RunExperiment(const ExperimentOptions& options) {
  Experiment experiment(options);
  ExperimentResult result = experiment.Run();
  if (!experiment.violation().empty()) return absl::InternalError(experiment.violation());
  return result;
}

}  // namespace penstock
