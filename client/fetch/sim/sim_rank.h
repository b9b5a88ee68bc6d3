// One rank: the shipped FetchController in virtual time, with a consumer.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_SIM_RANK_H_
#define PENSTOCK_CLIENT_FETCH_SIM_SIM_RANK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/counter_rng.h"
#include "client/fetch/fetch_controller.h"
#include "client/fetch/sim/command_hash.h"
#include "client/fetch/sim/event_queue.h"
#include "client/fetch/sim/messages.h"
#include "client/fetch/sim/session.h"
#include "client/fetch/sim/sim_server.h"
#include "client/fetch/sim/step_checker.h"
#include "client/fetch/sim/stopwatch.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"

namespace penstock::sim {

struct ConsumerModel {
  // Time for each batch. If it is zero, the consumer takes batches as fast as they come.
  absl::Duration step = absl::ZeroDuration();
  uint32_t hold = 0;  // Batches kept in addition to the current one.
  // The consumer pauses after this many batches; 0 means never.
  uint64_t pause_every = 0;
  absl::Duration pause = absl::ZeroDuration();
};

struct RankOptions {
  FetchOptions controller;  // Includes the addresses of the first servers.
  ConsumerModel consumer;
  // The driver's thread looks at its events up to this late, so several events come at once.
  absl::Duration wake_delay = absl::ZeroDuration();
  bool check = true;  // Check rows against the plan.
  StepChecker::StandIn stand_in = nullptr;
  bool stopwatch = false;  // Measure the controller's own time.
};

// The world that ranks are in, which carries their messages.
class RankSurroundings : public Surroundings {
 public:
  // Runs `ask` at the session's server when the message arrives there.
  virtual void Ask(const std::shared_ptr<Session>& session,
                   std::function<void(SimServer&)> ask) = 0;
  virtual uint32_t ServerAt(const std::string& address) const = 0;
  // How long the rank has had a healthy server without a break; zero if it has none.
  virtual absl::Duration HealthyFor(uint32_t rank) const = 0;

 protected:
  ~RankSurroundings() = default;
};

struct RankStats {
  uint64_t steps = 0;     // Steps delivered.
  uint64_t rows = 0;      // Rows of these steps.
  uint64_t requests = 0;  // Requests sent.
  uint64_t windows = 0;   // Windows opened.
  uint64_t streams = 0;   // Streams opened.
  uint64_t advances = 0;
  uint64_t most_outstanding_bytes = 0;
  std::vector<absl::Duration> waits;  // The consumer's wait for each batch.
};

// Tells the controller what arrives, as the Driver does. Checks its commands against the protocol,
// and what it delivers against the plan. Not thread-safe.
class SimRank final : public FetchActions {
 public:
  // All references must outlive it.
  SimRank(uint32_t rank, const Plan& plan, const Steps& steps, const RankOptions& options,
          EventQueue& queue, RankSurroundings& world, uint64_t seed);

  void Start();
  void Receive(const std::shared_ptr<Session>& session, Message message);
  void ChangeServers(std::vector<std::string> addresses);
  // Stops the rank's process for this long.
  void Stop(absl::Duration lasts);

  bool ended() const { return finished_ || !failure_.ok(); }
  bool finished() const { return finished_; }
  const absl::Status& failure() const { return failure_; }
  // HealthyFor() at the moment at which the rank failed.
  absl::Duration healthy_before_failure() const { return healthy_before_failure_; }
  // The time since which the consumer waits for a batch; absent if it has one, or has all of them.
  std::optional<absl::Time> starving_since() const {
    if (ended() || !starving_) return std::nullopt;
    return std::max(*starving_, goes_on_at_);
  }
  const RankStats& stats() const { return stats_; }
  // A hash over all commands that the controller has given so far.
  uint64_t commands_hash() const { return commands_.value(); }
  // Processor time of the controller alone.
  std::chrono::nanoseconds controller_time() const { return stopwatch_.total(); }
  const std::vector<std::string>& addresses() const { return addresses_; }
  const FetchController& controller() const { return controller_; }
  // Windows that this rank has open, on streams that it has not closed.
  size_t open_windows() const;

  void OpenStream(StreamId stream, const std::string& address) override;
  void CloseStream(StreamId stream) override;
  void OpenWindow(StreamId stream, const WindowRequest& window) override;
  void ReleaseWindow(StreamId stream, uint64_t window) override;
  void Fetch(StreamId stream, const FetchRequest& fetch) override;
  void Cancel(StreamId stream, uint64_t request) override;
  void Deliver(const ReadyStep& step) override;
  void Finish() override;
  void Fail(absl::Status status) override;
  void Report(absl::string_view line) override;

 private:
  struct Asked {
    uint64_t window = 0;
    uint64_t bytes = 0;
    uint64_t rows_missing = 0;
  };
  // The client's end of a stream.
  struct Connection {
    std::shared_ptr<Session> session;
    uint64_t credit_bytes = 0;
    uint64_t outstanding_bytes = 0;
    bool greeted = false;                  // Hello has come.
    bool draining = false;                 // The controller was told that the server drains.
    std::map<uint64_t, uint32_t> windows;  // Number of rows of each open window.
    std::map<uint64_t, Asked> asked;
  };

  void Post(std::function<void()> event);
  void Wake();
  void Advance();
  void SetTimer(absl::Time wake);
  void Hear(const std::shared_ptr<Session>& session, Message& message);
  void Note(Connection& connection, const Message& message);
  void HearPart(StreamId stream, const SaysPart& part);
  Connection* Find(StreamId stream);
  void Answered(Connection& connection, uint64_t request);
  void CheckDrained();
  void CheckOutstanding(const Connection& connection, uint64_t bytes);
  void Take();
  void Consume(uint32_t slot);
  void Log(absl::string_view what, StreamId stream, const std::string& more);
  void Require(bool rule, absl::string_view otherwise);

  const uint32_t rank_;
  const RankOptions options_;
  EventQueue& queue_;
  RankSurroundings& world_;
  CounterRng rng_;
  Stopwatch stopwatch_;  // Measures the controller without its actions.
  std::vector<std::string> addresses_;
  FetchController controller_;
  std::optional<StepChecker> checker_;
  RankStats stats_;
  CommandHash commands_;

  std::vector<std::function<void()>> inbox_;
  bool wake_pending_ = false;
  // The time at which the process continues after it was stopped.
  absl::Time goes_on_at_ = absl::InfinitePast();
  absl::Time timer_ = absl::InfiniteFuture();
  uint64_t timer_number_ = 0;
  absl::Time last_advance_ = absl::InfinitePast();
  uint32_t advances_at_once_ = 0;
  // Number of timer wake-ups in the second that began at timer_wakes_since_.
  uint64_t timer_wakes_ = 0;
  absl::Time timer_wakes_since_ = absl::InfinitePast();

  std::map<uint32_t, Connection> connections_;  // Keyed by StreamId::server.
  uint64_t outstanding_bytes_ = 0;

  struct Ready {
    uint64_t step;
    uint32_t slot;
  };
  std::deque<Ready> ready_;
  std::deque<uint32_t> held_;
  std::optional<absl::Time> starving_;
  bool consumer_idle_ = true;
  uint64_t consumed_ = 0;
  bool finished_ = false;
  absl::Status failure_;
  absl::Duration healthy_before_failure_;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SIM_RANK_H_
