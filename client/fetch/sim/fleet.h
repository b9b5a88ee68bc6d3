// A fleet of simulated servers, the ranks that read from them, and the network between them, in
// virtual time.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_FLEET_H_
#define PENSTOCK_CLIENT_FETCH_SIM_FLEET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/fetch/sim/event_queue.h"
#include "client/fetch/sim/messages.h"
#include "client/fetch/sim/network.h"
#include "client/fetch/sim/sim_rank.h"
#include "client/fetch/sim/sim_server.h"

namespace penstock::sim {

struct FleetModel {
  std::vector<ServerModel> servers;
  LinkOptions link;
  uint64_t seed = 1;
  // It is a violation if a consumer waits this long although one server was healthy for as long.
  absl::Duration patience = absl::InfiniteDuration();
  std::function<void(const std::string&)> log;  // May be empty; then nothing is logged.
};

// Everything that happens is a function of the inputs: the same seed gives the same run. The first
// broken rule ends the run. Not thread-safe.
class Fleet final : public RankSurroundings {
 public:
  explicit Fleet(const FleetModel& model);

  static std::string Address(uint32_t server);

  // The objects that `options`, `plan` and `steps` refer to must outlive the fleet.
  SimRank& AddRank(const Plan& plan, const Steps& steps, const RankOptions& options);
  // Starts the ranks. Runs until every rank has ended, until `until`, or until a violation.
  void Run(absl::Time until = absl::InfiniteFuture(), uint64_t max_events = ~uint64_t{0});

  // Changes how a server can be reached or what it does, and notes the time of the change.
  void Change(uint32_t server, const std::string& what, const std::function<void()>& change);

  EventQueue& queue() { return queue_; }
  Network& network() { return network_; }
  uint32_t num_servers() const { return static_cast<uint32_t>(servers_.size()); }
  SimServer& server(uint32_t i) { return *servers_[i]; }
  uint32_t num_ranks() const { return static_cast<uint32_t>(ranks_.size()); }
  SimRank& rank(uint32_t i) { return *ranks_[i]; }
  // The first broken rule; empty if every rule was kept.
  const std::string& violation() const { return violation_; }

  void Ask(const std::shared_ptr<Session>& session, std::function<void(SimServer&)> ask) override;
  void Tell(const std::shared_ptr<Session>& session, Message message) override;
  uint32_t ServerAt(const std::string& address) const override { return index_.at(address); }
  absl::Duration HealthyFor(uint32_t rank) const override;
  void Violate(const std::string& what) override;
  bool logs() const override { return static_cast<bool>(model_.log); }
  void Log(const std::string& line) override;

 private:
  void Watch();
  void WatchRank(uint32_t index);
  bool AllEnded() const;

  const FleetModel model_;
  EventQueue queue_;
  Network network_;
  std::vector<std::unique_ptr<SimServer>> servers_;
  std::vector<absl::Time> touched_;  // When each server was last changed.
  std::map<std::string, uint32_t> index_;
  std::vector<std::unique_ptr<SimRank>> ranks_;
  std::string violation_;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_FLEET_H_
