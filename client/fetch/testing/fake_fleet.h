// A fleet of servers in virtual time, around the real FetchController.
#ifndef PENSTOCK_CLIENT_FETCH_TESTING_FAKE_FLEET_H_
#define PENSTOCK_CLIENT_FETCH_TESTING_FAKE_FLEET_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/counter_rng.h"
#include "client/fetch/fetch_controller.h"

namespace penstock {

struct FleetOptions {
  uint32_t servers = 2;
  std::optional<uint32_t> listed = {};  // So many of them are in the first set; absent: all.
  uint64_t seed = 1;
  absl::Duration latency = absl::Milliseconds(2);  // Of an answer, on average.
  absl::Duration load = absl::Milliseconds(5);     // Of a window, on average.
  uint32_t part_rows = 64;                         // Answers are cut into parts of this.
  absl::Duration consume = absl::Milliseconds(1);  // Per step.
  uint64_t credit_bytes = 1 << 20;
  absl::Duration copying = absl::ZeroDuration();  // Of a part, beside all else that happens.
  // Windows of which rows were asked for; of more it refuses rows. 0: no limit.
  uint32_t windows_in_use = 0;
  // Servers say their credit so often, as where windows wait for memory. Infinite: once.
  absl::Duration credit_every = absl::InfiniteDuration();
  uint32_t hold = 0;  // Steps that the consumer keeps while it asks for the next.
};

// Runs a FetchController against servers that answer late and out of order, that die and come back,
// that are forged, and checks every delivered row against the plan. Deterministic. Not thread-safe.
class FakeFleet final : public FetchActions {
 public:
  FakeFleet(const Plan& plan, const Steps& steps, FetchOptions controller, FleetOptions options);

  // Runs until the end or until nothing more can happen; true if every step was delivered.
  bool Run();

  // What happens to whom, at a virtual time from the start.
  void KillAt(absl::Duration when, uint32_t server);
  void RestartAt(absl::Duration when, uint32_t server);
  // It takes no new stream and is gone after `grace`, unless it is stalled; zero: nobody knows
  // when. From then on nothing may be asked of it.
  void DrainAt(absl::Duration when, uint32_t server, absl::Duration grace = absl::ZeroDuration());
  // From then on it accepts everything and answers nothing.
  void StallAt(absl::Duration when, uint32_t server);
  // From then on its answers and loads take so many times as long.
  void SlowDownAt(absl::Duration when, uint32_t server, double factor);
  // It dies of these rows of any window, once asked for them.
  void DieOfRow(uint32_t server, WindowId window, uint32_t row);
  // After so many deaths of rows, over all servers, nobody dies of them any more.
  void DieOnlyTimes(int times) { deaths_left_ = times; }
  // It is that process, at one address of several; 0, as without this: it does not say.
  void SetInstance(uint32_t server, uint64_t instance) { servers_[server].instance = instance; }
  // It finds this record of the window damaged, until it is told to replace it.
  void DamageWindow(uint32_t server, WindowId window, Damage damage);
  // Once it is to replace that record, it has no good one of the window, nor has any of `chunks`:
  // in each of these it finds one damaged first.
  void EmptyWindow(uint32_t server, WindowId window, std::set<uint32_t> chunks);
  // It is of a release that has no spares.
  void KnowNoSpares(uint32_t server) { servers_[server].knows_spares = false; }
  // It answers the next fetch with this.
  void FailNextFetch(uint32_t server, absl::Status status);
  // All records of these chunks of "s", of one chunk number an offset, are damaged on it.
  void LoseChunks(uint32_t server, std::set<uint32_t> chunks) {
    servers_[server].lost = std::move(chunks);
  }
  // It cannot open the next `times` windows.
  void FailWindows(uint32_t server, int times, absl::Status status) {
    StreamError error;
    error.status = std::move(status);
    FailWindows(server, times, std::move(error));
  }
  void FailWindows(uint32_t server, int times, StreamError error);
  // It is forged: of each answer it sends the first part, again and again.
  void RepeatParts(uint32_t server) { servers_[server].repeats = true; }
  // It is forged: it sends this share of its parts twice, some when their request has long ended.
  void DuplicateParts(uint32_t server, double share) { servers_[server].duplicate = share; }
  // It never answers the next fetch.
  void ForgetNextFetch(uint32_t server) { servers_[server].forget_next = true; }
  // It answers no fetch at all, but says Hello and loads windows.
  void ForgetFetches(uint32_t server) { servers_[server].forget_all = true; }
  // It dies of every window, right after Hello.
  void DieOfWindows(uint32_t server) { servers_[server].dies_of_windows = true; }
  // The client's process is stopped then, for so long: what happens meanwhile it hears afterwards.
  void StopClientAt(absl::Duration when, absl::Duration lasts);
  // The first `count` servers are the set from then on.
  void ServersAt(absl::Duration when, uint32_t count);
  // Its stream ends with this.
  void BreakAt(absl::Duration when, uint32_t server, absl::Status status);

  const absl::Status& failure() const { return failure_; }
  // The chunks that stood for each empty window, over all servers and answers.
  const std::map<WindowId, std::set<uint32_t>>& spares_used() const { return spares_used_; }
  uint64_t delivered() const { return delivered_; }
  absl::Duration elapsed() const { return now_ - absl::UnixEpoch(); }
  uint64_t rows_fetched(uint32_t server) const { return servers_[server].rows; }
  uint64_t windows_opened() const { return windows_opened_; }
  uint64_t cancels() const { return cancels_; }
  // The longest that the consumer waited for a step after the first.
  absl::Duration longest_wait() const { return longest_wait_; }
  const std::vector<std::string>& reports() const { return reports_; }
  uint64_t fetches() const { return fetches_; }
  uint64_t connects(uint32_t server) const { return servers_[server].connects; }
  // The most that any server had open at once.
  size_t most_windows() const { return most_windows_; }
  // Windows that some server still has open, but those whose stream is about to be closed.
  size_t open_windows() const;
  // Streams that the controller has not closed.
  size_t open_streams() const;
  // Set when a rule of the protocol was broken: what and where.
  const std::string& violation() const { return violation_; }
  FetchController& controller() { return controller_; }

  void OpenStream(StreamId stream, const std::string& address) override;
  void CloseStream(StreamId stream) override;
  void OpenWindow(StreamId stream, const WindowRequest& window) override;
  void ReleaseWindow(StreamId stream, uint64_t window) override;
  void Fetch(StreamId stream, const FetchRequest& fetch) override;
  void Cancel(StreamId stream, uint64_t request) override;
  void Deliver(const ReadyStep& step) override;
  void Report(absl::string_view message) override { reports_.emplace_back(message); }
  void Finish() override { finished_ = true; }
  void Fail(absl::Status status) override { failure_ = std::move(status); }

 private:
  struct FakeServer {
    bool alive = true;
    bool stalled = false;
    bool draining = false;    // It has said so: its stream is closed when it has answered.
    uint32_t generation = 0;  // Of the stream it serves; 0: none.
    uint64_t instance = 0;
    struct Window {
      WindowId id;
      absl::Time ready_at;
      std::vector<Damage> damaged;  // That it was told of.
      std::optional<uint32_t> spare;
      bool in_use = false;
    };
    std::map<uint64_t, Window> windows;
    double slowness = 1;
    std::set<std::pair<WindowId, uint32_t>> deadly;
    std::map<WindowId, Damage> damage;
    std::map<WindowId, std::set<uint32_t>> empty;
    std::set<uint32_t> lost;
    bool knows_spares = true;
    uint64_t rows = 0;
    absl::Status fail_next;
    StreamError fail_windows;
    int windows_to_fail = 0;
    bool forget_next = false;
    bool forget_all = false;
    bool dies_of_windows = false;
    bool repeats = false;
    double duplicate = 0;
    uint64_t connects = 0;
    std::set<uint64_t> failed;  // Of `windows`.
    struct Asked {
      uint64_t window = 0;
      uint64_t rows = 0;
      uint64_t left = 0;  // Not sent yet.
    };
    std::map<uint64_t, Asked> asked;  // By request.
    uint64_t outstanding_rows = 0;    // Of all in `asked`.

    void Answered(uint64_t request);
    void Forget();  // Its stream has ended.
  };

  void At(absl::Duration delay, std::function<void()> action);
  absl::Duration Jitter(absl::Duration mean) { return mean * 2 * rng_.Uniform(); }
  bool Serves(StreamId stream) const;
  void SayCredit(StreamId stream);
  void Answer(StreamId stream, const FetchRequest& fetch, const FakeServer::Window& window);
  bool RefuseForDamage(StreamId stream, const FetchRequest& fetch,
                       const FakeServer::Window& window);
  std::optional<StreamError> FindDamage(FakeServer& server, const FakeServer::Window& window);
  std::optional<StreamError> FindLostChunk(FakeServer& server, const FakeServer::Window& window);
  bool IsFull(const FakeServer& server) const;
  bool DiesOf(StreamId stream, const FetchRequest& fetch, WindowId window);
  void RepeatPart(StreamId stream, uint64_t request, const std::vector<Location>& rows);
  void PartArrives(StreamId stream, uint64_t request, uint32_t first,
                   const std::vector<Location>& rows);
  void Check(const ReadyStep& step);
  void CheckDraining(const FakeServer& server);
  void CheckCredit(FakeServer& server, const FetchRequest& fetch);
  void Die(uint32_t server, absl::Status status);
  void Violate(const std::string& what);

  const Plan& plan_;
  const FleetOptions options_;
  CounterRng rng_;
  const uint64_t row_bytes_;
  const uint64_t max_outstanding_bytes_;
  absl::Time now_ = absl::UnixEpoch();
  std::multimap<absl::Time, std::function<void()>> events_;
  std::vector<FakeServer> servers_;
  std::set<uint64_t> requests_seen_;
  std::vector<std::vector<Location>> slots_;
  std::map<uint64_t, EpochOrder> orders_;
  FetchController controller_;
  bool finished_ = false;
  uint64_t delivered_ = 0;
  uint64_t fetches_ = 0;
  uint64_t windows_opened_ = 0;
  uint64_t cancels_ = 0;
  int deaths_left_ = 1'000'000;
  std::map<WindowId, std::set<uint32_t>> spares_used_;
  absl::Duration longest_wait_;
  std::vector<std::string> reports_;
  size_t most_windows_ = 0;
  absl::Time consumer_free_ = absl::UnixEpoch();
  std::deque<uint32_t> held_;
  absl::Status failure_;
  std::string violation_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_TESTING_FAKE_FLEET_H_
