// A simulated preprocessing server: it loads windows, queues requests, answers in parts, and
// misbehaves as told.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_SIM_SERVER_H_
#define PENSTOCK_CLIENT_FETCH_SIM_SIM_SERVER_H_

#include <cstdint>
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
#include "client/fetch/sim/event_queue.h"
#include "client/fetch/sim/messages.h"
#include "client/fetch/sim/session.h"
#include "client/fetch/sim/window_store.h"

namespace penstock::sim {

struct ServerModel {
  uint32_t cores = 2;
  absl::Duration row_cost = absl::Microseconds(1);  // On one core.
  StoreOptions store;
  uint32_t part_rows = 64;
  uint64_t row_bytes = 200;
  uint64_t credit_bytes = 1 << 20;
  uint32_t max_windows = 1024;   // As EngineLimits has them.
  uint32_t max_requests = 4096;  // Likewise.
  bool content = true;           // Whether parts carry what they hold.
};

// Ways of not being a good server. Shares are of what would have been sent.
struct Manners {
  bool mute = false;        // Takes streams and says nothing.
  bool hello_only = false;  // Says Hello and nothing more.
  bool no_rows = false;     // Says that windows are ready, and never sends a row.
  double slow = 1;          // Times the row cost.
  double forget = 0;        // Requests never answered.
  double repeat = 0;        // Parts sent twice, the second up to two seconds late.
  double stray = 0;         // Parts followed by one of a request that is not there.
  double excess = 0;        // Parts with more rows than were asked for.
  double overlap = 0;       // Parts that repeat some rows and bring others.
  double empty = 0;         // Parts followed by one of no rows.
  double refuse_window = 0;
  double refuse_fetch = 0;
  double babble = 0;  // Windows followed by words about ones that are not there.
  absl::Status refusal = absl::UnavailableError("read failed: try again");

  bool good() const;
};

// What is wrong with a server's copy of the data: with one window, by lane and index, in every
// epoch. It stays so after a restart.
struct BadData {
  std::pair<uint32_t, uint32_t> window;
  absl::Status unreadable;       // Not OK: it cannot be opened.
  std::optional<Damage> damage;  // Requests find it, unless it is to be replaced.
  bool deadly = false;           // Requests kill the server; it is back after a second.
  // Beside `damage`: no record of the window is good, nor is any of these chunks.
  bool empty = false;
  std::set<uint32_t> empty_chunks;

  // The chunk that has to stand for the window's rows; absent: there is none. REQUIRES: `empty`.
  std::optional<uint32_t> StandIn(const EpochOrder& order, WindowId id) const;
  bool concerns(WindowId id) const { return window == std::pair(id.lane, id.index); }
};

class SimServer {
 public:
  using SessionPtr = std::shared_ptr<Session>;

  // `queue` and `world` must outlive it.
  SimServer(uint32_t index, const ServerModel& model, EventQueue& queue, Surroundings& world,
            uint64_t seed);

  // What arrives from clients.
  void Accept(const SessionPtr& session);
  void OpenWindow(const SessionPtr& session, uint64_t number, OpenedWindow window);
  void Fetch(const SessionPtr& session, const FetchRequest& fetch);
  void Cancel(const SessionPtr& session, uint64_t request);
  void Release(const SessionPtr& session, uint64_t number);
  void Close(const SessionPtr& session);

  // What happens to it. Its streams end; from then on it refuses streams.
  void Kill(const absl::Status& reason);
  // As if its machine had lost power: nobody is told, and nobody gets an answer.
  void Vanish();
  // A new instance, that has loaded nothing and misbehaves no more.
  void Start();
  // Accepts everything and does nothing, until it resumes.
  void Stall() { stalled_ = true; }
  void Resume();
  // Answers what was asked, takes no new streams; says that it ends after `grace`.
  void Drain(absl::Duration grace);
  // Ends the streams of one rank.
  void Break(uint32_t rank, const absl::Status& reason);
  Manners& manners() { return manners_; }
  void set_bad_data(const BadData& data) { bad_data_ = data; }

  bool alive() const { return alive_; }
  // Whether a client can expect rows of it.
  bool healthy() const {
    return alive_ && !stalled_ && !draining_ && manners_.good() && !talked_nonsense_;
  }
  uint64_t rows_sent() const { return rows_sent_; }
  // Whether it ever sent what no client can make sense of: clients may leave it for good.
  bool talked_nonsense() const { return talked_nonsense_; }
  // Of requests.
  uint64_t deaths() const { return deaths_; }
  // Gets a record of each load. Null: nobody does. Must outlive the server.
  void set_load_records(std::vector<LoadRecord>* records) { load_records_ = records; }

 private:
  // A request whose window is there.
  struct Job {
    SessionPtr session;
    FetchRequest fetch;
    WindowId window;
    std::optional<uint32_t> stand_in;  // The chunk whose record stands for all rows.
    uint32_t next_row = 0;             // Of the request.
  };

  void Later(absl::Duration delay, std::function<void()> action);
  bool Serves(const SessionPtr& session) const { return session->server_open; }
  void Forget(const SessionPtr& session);
  void EndAll();
  void WindowLoaded(const SessionPtr& session, uint64_t number);
  void Refuse(const SessionPtr& session, std::optional<uint64_t> request,
              std::optional<uint64_t> window, const absl::Status& status);
  bool RefusesWindow(const SessionPtr& session, uint64_t number, WindowId id);
  bool RefusesFetch(const SessionPtr& session, const FetchRequest& fetch,
                    const OpenedWindow& window);
  bool IsEmpty(const OpenedWindow& window) const;
  // The damage in the window's records or its spare's; the error names no request or window yet.
  std::optional<StreamError> FindDamage(const OpenedWindow& window) const;
  void Die();
  bool Allows(const Session& session, const OpenedWindow& window, const FetchRequest& fetch);
  void Queue(const SessionPtr& session, const FetchRequest& fetch, const OpenedWindow& window);
  void Decode();
  void Decoded(Job job);
  void Send(const Job& job, uint32_t first, uint32_t rows);
  void Misbehave(const Job& job, const SaysPart& part);
  SaysPart MakePart(const Job& job, uint32_t first, uint32_t rows) const;
  void EndIfDrained();
  bool Draw(double share) { return share > 0 && rng_.Uniform() < share; }

  const uint32_t index_;
  const ServerModel model_;
  EventQueue& queue_;
  Surroundings& world_;
  CounterRng rng_;
  Manners manners_;
  std::optional<BadData> bad_data_;
  uint64_t deaths_ = 0;
  bool talked_nonsense_ = false;
  bool alive_ = false;
  bool silent_ = false;  // While not alive.
  bool stalled_ = false;
  bool draining_ = false;
  uint64_t starts_ = 0;
  std::vector<std::function<void()>> deferred_;  // While stalled.

  std::vector<SessionPtr> sessions_;
  std::unique_ptr<WindowStore> store_;
  std::map<std::pair<uint64_t, uint64_t>, Job> jobs_;  // By (needed_at, sequence).
  uint64_t job_sequence_ = 0;
  uint32_t busy_cores_ = 0;
  uint64_t rows_sent_ = 0;
  std::vector<LoadRecord>* load_records_ = nullptr;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SIM_SERVER_H_
