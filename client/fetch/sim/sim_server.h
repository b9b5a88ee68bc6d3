// A simulated preprocessing server. It loads windows, queues requests, answers in parts, and
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
  absl::Duration row_cost = absl::Microseconds(1);  // Time that one core takes for a row.
  StoreOptions store;
  uint32_t part_rows = 64;
  uint64_t row_bytes = 200;
  uint64_t credit_bytes = 1 << 20;
  uint32_t max_windows = 1024;   // The same as in EngineLimits.
  uint32_t max_requests = 4096;  // The same as in EngineLimits.
  bool content = true;           // Whether parts carry the content of their rows.
};

// Ways to misbehave. Each share is a share of what a good server would send.
struct Manners {
  bool mute = false;        // Accepts streams and says nothing.
  bool hello_only = false;  // Sends Hello and nothing more.
  bool no_rows = false;     // Sends that windows are ready, but never a row.
  double slow = 1;          // The row cost is multiplied by this.
  double forget = 0;        // Share of requests that are never answered.
  double repeat = 0;  // Share of parts that are sent twice, the second time up to two seconds late.
  double stray = 0;   // Share of parts that are followed by one of an unknown request.
  double excess = 0;  // Share of parts that have more rows than requested.
  double overlap = 0;  // Share of parts that are followed by one with repeated rows.
  double empty = 0;    // Share of parts that are followed by one without rows.
  double refuse_window = 0;
  double refuse_fetch = 0;
  double babble = 0;  // Share of windows that are followed by messages about unknown ones.
  absl::Status refusal = absl::UnavailableError("read failed: try again");

  bool good() const;
};

// The faults in a server's copy of the data. They concern one window, given by lane and index, in
// every epoch. They persist over a restart.
struct BadData {
  std::pair<uint32_t, uint32_t> window;
  absl::Status unreadable;       // If it is not OK, the window cannot be opened.
  std::optional<Damage> damage;  // Requests find this damage, unless the record is to be replaced.
  bool deadly = false;           // Requests kill the server, which is back after a second.
  // If true, no record of the window is good, not only the one in `damage`, and none of the chunks
  // in empty_chunks has a good record.
  bool empty = false;
  std::set<uint32_t> empty_chunks;

  // Returns the chunk that has to replace the window's rows, or nullopt if there is none. REQUIRES:
  // `empty`.
  std::optional<uint32_t> StandIn(const EpochOrder& order, WindowId id) const;
  bool concerns(WindowId id) const { return window == std::pair(id.lane, id.index); }
};

class SimServer {
 public:
  using SessionPtr = std::shared_ptr<Session>;

  // `queue` and `world` must outlive it.
  SimServer(uint32_t index, const ServerModel& model, EventQueue& queue, Surroundings& world,
            uint64_t seed);

  // Messages from clients.
  void Accept(const SessionPtr& session);
  void OpenWindow(const SessionPtr& session, uint64_t number, OpenedWindow window);
  void Fetch(const SessionPtr& session, const FetchRequest& fetch);
  void Cancel(const SessionPtr& session, uint64_t request);
  void Release(const SessionPtr& session, uint64_t number);
  void Close(const SessionPtr& session);

  // The server dies: its streams end, and it refuses new ones.
  void Kill(const absl::Status& reason);
  // Stops like after a loss of power: nobody is told, and nobody gets an answer.
  void Vanish();
  // Starts a new instance, which has loaded nothing and does not misbehave.
  void Start();
  // Accepts everything and does nothing until Resume().
  void Stall() { stalled_ = true; }
  void Resume();
  // Finishes the outstanding requests, takes no new streams, and announces that it ends after
  // `grace`.
  void Drain(absl::Duration grace);
  // Ends the streams of one rank.
  void Break(uint32_t rank, const absl::Status& reason);
  Manners& manners() { return manners_; }
  void set_bad_data(const BadData& data) { bad_data_ = data; }

  bool alive() const { return alive_; }
  // Whether a client can expect rows from the server.
  bool healthy() const {
    return alive_ && !stalled_ && !draining_ && manners_.good() && !talked_nonsense_;
  }
  uint64_t rows_sent() const { return rows_sent_; }
  // Whether the server ever sent something that makes no sense. Clients may then leave it for good.
  bool talked_nonsense() const { return talked_nonsense_; }
  // Number of times that a request killed the server.
  uint64_t deaths() const { return deaths_; }
  // Records each load in `records`, which must outlive the server. May be null; then nothing is
  // recorded.
  void set_load_records(std::vector<LoadRecord>* records) { load_records_ = records; }

 private:
  // A request whose window is loaded.
  struct Job {
    SessionPtr session;
    FetchRequest fetch;
    WindowId window;
    std::optional<uint32_t> stand_in;  // The chunk whose record replaces all rows.
    uint32_t next_row = 0;             // Index in the request's rows.
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
  // The damage in the window's records or its spare's. The error names no request or window yet.
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
  bool silent_ = false;  // Set while it is not alive, if it does not even refuse streams.
  bool stalled_ = false;
  bool draining_ = false;
  uint64_t starts_ = 0;
  std::vector<std::function<void()>> deferred_;  // Calls that came while it is stalled.

  std::vector<SessionPtr> sessions_;
  std::unique_ptr<WindowStore> store_;
  std::map<std::pair<uint64_t, uint64_t>, Job> jobs_;  // Keyed by (needed_at, sequence).
  uint64_t job_sequence_ = 0;
  uint32_t busy_cores_ = 0;
  uint64_t rows_sent_ = 0;
  std::vector<LoadRecord>* load_records_ = nullptr;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SIM_SERVER_H_
