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
  // Number of servers in the first set. If it is absent, all are.
  std::optional<uint32_t> listed = {};
  uint64_t seed = 1;
  absl::Duration latency = absl::Milliseconds(2);  // Mean time of an answer.
  absl::Duration load = absl::Milliseconds(5);     // Mean time of loading a window.
  uint32_t part_rows = 64;                         // Answers are cut into parts of this many rows.
  absl::Duration consume = absl::Milliseconds(1);  // Time that the consumer takes for a step.
  uint64_t credit_bytes = 1 << 20;
  // Time for copying a part. Everything else continues meanwhile.
  absl::Duration copying = absl::ZeroDuration();
  // Number of windows of which a server can serve rows. It refuses rows of further windows. 0 means
  // no limit.
  uint32_t windows_in_use = 0;
  // How often servers send their credit, as they do while windows wait for memory. If it is
  // infinite, they send it once.
  absl::Duration credit_every = absl::InfiniteDuration();
  bool working = false;  // Whether repeated credit says that requests wait for a thread.
  uint32_t hold = 0;     // Number of steps that the consumer keeps while it asks for the next.
};

// Runs a FetchController against servers that answer late and out of order, that die and come back,
// or that are forged. Checks every delivered row against the plan. Deterministic. Not thread-safe.
class FakeFleet final : public FetchActions {
 public:
  FakeFleet(const Plan& plan, const Steps& steps, FetchOptions controller, FleetOptions options);

  // Runs until the end, or until nothing more can happen. Returns true if every step was delivered.
  bool Run();

  // The functions below say what happens to a server, mostly at a virtual time from the start.
  void KillAt(absl::Duration when, uint32_t server);
  void RestartAt(absl::Duration when, uint32_t server);
  // The server takes no new stream and is gone after `grace`, unless it is stalled. If `grace` is
  // zero, the server does not say when it will be gone. From `when` on, nothing may be requested
  // from it.
  void DrainAt(absl::Duration when, uint32_t server, absl::Duration grace = absl::ZeroDuration());
  // From then on the server accepts everything and answers nothing.
  void StallAt(absl::Duration when, uint32_t server);
  // From then on its answers and loads take this many times as long.
  void SlowDownAt(absl::Duration when, uint32_t server, double factor);
  // The server dies when it is asked for this row of the window.
  void DieOfRow(uint32_t server, WindowId window, uint32_t row);
  // After this many such deaths, over all servers, no server dies of a row any more.
  void DieOnlyTimes(int times) { deaths_left_ = times; }
  // Says which process the server is. A process may have several addresses. With 0, the default,
  // the server does not say.
  void SetInstance(uint32_t server, uint64_t instance) { servers_[server].instance = instance; }
  // The server finds this record of the window damaged until it is told to replace it.
  void DamageWindow(uint32_t server, WindowId window, Damage damage);
  // Once the server is told to replace that record, it has no good record of the window, nor of any
  // of `chunks`. In each of these chunks it first finds one damaged record.
  void EmptyWindow(uint32_t server, WindowId window, std::set<uint32_t> chunks);
  // Makes the server one of an older release, which has no spares.
  void KnowNoSpares(uint32_t server) { servers_[server].knows_spares = false; }
  // The server answers the next fetch with `status`.
  void FailNextFetch(uint32_t server, absl::Status status);
  // All records of these chunks of "s" are damaged on the server. The chunk with number n is at
  // offset n.
  void LoseChunks(uint32_t server, std::set<uint32_t> chunks) {
    servers_[server].lost = std::move(chunks);
  }
  // The server cannot open the next `times` windows.
  void FailWindows(uint32_t server, int times, absl::Status status) {
    StreamError error;
    error.status = std::move(status);
    FailWindows(server, times, std::move(error));
  }
  void FailWindows(uint32_t server, int times, StreamError error);
  // The server cannot open this window.
  void LackWindow(uint32_t server, WindowId window, absl::Status status) {
    servers_[server].lacks.emplace(window, std::move(status));
  }
  // Every server ends its streams with `refusal` at `when`, and refuses new ones for the time
  // `lasts`.
  void RefuseFor(absl::Duration when, absl::Duration lasts, absl::Status refusal);
  // The server is forged: it sends the first part of each answer again and again.
  void RepeatParts(uint32_t server) { servers_[server].repeats = true; }
  // The server is forged: it sends this share of its parts twice, some long after their request has
  // ended.
  void DuplicateParts(uint32_t server, double share) { servers_[server].duplicate = share; }
  // The server never answers the next fetch.
  void ForgetNextFetch(uint32_t server) { servers_[server].forget_next = true; }
  // The server answers no fetch at all, but sends Hello and loads windows.
  void ForgetFetches(uint32_t server) { servers_[server].forget_all = true; }
  // The server dies of every window, right after Hello.
  void DieOfWindows(uint32_t server) { servers_[server].dies_of_windows = true; }
  // The client's process is stopped at `when`, for the time `lasts`. It hears afterwards what
  // happened meanwhile.
  void StopClientAt(absl::Duration when, absl::Duration lasts);
  // From then on the set consists of the first `count` servers.
  void ServersAt(absl::Duration when, uint32_t count);
  // The server's stream ends with this status.
  void BreakAt(absl::Duration when, uint32_t server, absl::Status status);

  const absl::Status& failure() const { return failure_; }
  // The chunks that replaced each empty window, over all servers and answers.
  const std::map<WindowId, std::set<uint32_t>>& spares_used() const { return spares_used_; }
  uint64_t delivered() const { return delivered_; }
  absl::Duration elapsed() const { return now_ - absl::UnixEpoch(); }
  uint64_t rows_fetched(uint32_t server) const { return servers_[server].rows; }
  uint64_t windows_opened() const { return windows_opened_; }
  uint64_t cancels() const { return cancels_; }
  // The longest time that the consumer waited for a step, after the first step.
  absl::Duration longest_wait() const { return longest_wait_; }
  const std::vector<std::string>& reports() const { return reports_; }
  uint64_t fetches() const { return fetches_; }
  uint64_t connects(uint32_t server) const { return servers_[server].connects; }
  // The most windows that any server had open at once.
  size_t most_windows() const { return most_windows_; }
  // Windows that some server still has open, except those whose stream is about to be closed.
  size_t open_windows() const;
  // Streams that the controller has not closed.
  size_t open_streams() const;
  // Says which rule of the protocol was broken, and where; empty if none was.
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
    bool draining = false;    // Draining was sent. The stream is closed once all is answered.
    uint32_t generation = 0;  // Generation of the stream that it serves; 0 if there is none.
    uint64_t instance = 0;
    struct Window {
      WindowId id;
      absl::Time ready_at;
      std::vector<Damage> damaged;  // Records that it was told are damaged.
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
    std::map<WindowId, absl::Status> lacks;
    int windows_to_fail = 0;
    bool forget_next = false;
    bool forget_all = false;
    bool dies_of_windows = false;
    bool repeats = false;
    double duplicate = 0;
    uint64_t connects = 0;
    std::set<uint64_t> failed;  // Windows of `windows` that failed.
    struct Asked {
      uint64_t window = 0;
      uint64_t rows = 0;
      uint64_t left = 0;  // Rows not sent yet.
    };
    std::map<uint64_t, Asked> asked;  // Keyed by request.
    uint64_t outstanding_rows = 0;    // Rows of all requests in `asked`.

    void Answered(uint64_t request);
    void Forget();  // Forgets its stream, which has ended.
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
  absl::Status refusal_;  // While it is an error, servers refuse new streams.
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
