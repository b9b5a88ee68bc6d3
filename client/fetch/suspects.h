// Finds deadly windows: those of which servers may die.
#ifndef PENSTOCK_CLIENT_FETCH_SUSPECTS_H_
#define PENSTOCK_CLIENT_FETCH_SUSPECTS_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/indexed_heap.h"
#include "client/fetch/process_clock.h"
#include "client/fetch/server_table.h"
#include "client/fetch/window_table.h"

namespace penstock {

// A window that may kill servers is asked for alone, so that it cannot kill the fleet, and so that
// the next death proves it. This part queues suspects, takes one of them into quarantine after the
// other, and judges the deaths of servers that were asked for nothing else. It is told of broken
// streams and of servers that come back. It answers with the error that ends the job, or OK. It
// opens nothing, asks for nothing, and changes of a window only breaks_alone and withdrawn. Not
// thread-safe.
class Suspects {
 public:
  // `clock`, `servers` and `actions` must outlive it.
  Suspects(const ProcessClock& clock, const ServerTable& servers, FetchActions& actions)
      : clock_(clock), servers_(servers), actions_(actions) {}

  // Streams broke so often while it was loaded or its rows were claimed that it is asked for alone.
  static bool IsStillSuspect(const WindowEntry& window);

  // The window waits for its turn. It leaves like any heap's entry.
  void Add(WindowEntry& window) { queue_.Push(window.NeededAt(), window); }
  // The window in quarantine, after the next one has come in if there was none. Null: none waits.
  WindowEntry* Next();
  // Null: no window is in quarantine.
  WindowEntry* window() const { return window_; }
  // The server that is kept free for it. Null: none yet.
  ServerEntry* server() const { return server_; }
  void set_server(ServerEntry* server) { server_ = server; }
  // The window has proved harmless, or its server is gone without it.
  void End() {
    window_ = nullptr;
    server_ = nullptr;
  }
  // The server was asked to load the suspect and has not done so yet.
  bool LoadsSuspect(const ServerEntry& server) const;

  // A stream that was up broke.
  void CountBreak();
  // A stream broke, or `silent`: was given up. True: the window in quarantine is to avoid the
  // server, which may be bad for any other reason.
  bool OnLost(const ServerEntry& server, const absl::Status& status, bool silent);

  // A death is to be explained: nothing else is taken into quarantine until then.
  bool IsAccusing() const { return accusation_.has_value(); }
  bool IsAccusing(const ServerEntry& server) const;
  // The error that the job ends with if the accusation holds. REQUIRES: IsAccusing().
  const absl::Status& death() const { return accusation_->death; }
  // The accused's server is still away. While all are, it may be the network.
  absl::Status HearNothing();
  // Its server came back as another process: it died.
  absl::Status Confirm();
  // Its server lives. Streams may break of the window though: it is not asked for without end.
  absl::Status Withdraw();
  // Nobody will know.
  void Drop() { accusation_.reset(); }
  // The window is no longer needed.
  void Forget(const WindowEntry& window) {
    if (accusation_ && accusation_->window == &window) Drop();
  }

 private:
  // The claim that a window kills servers. It holds if this server comes back as another process.
  struct Accusation {
    uint32_t server;
    WindowEntry* window;
    absl::Time since;
    absl::Status death;
  };

  void NoteSuspect(const WindowEntry& window);
  bool ProvesDeadly(WindowEntry& window) const;
  void Accuse(const ServerEntry& server, const absl::Status& status);
  absl::Status DeathOf(const ServerEntry& server, const absl::Status& status) const;

  const ProcessClock& clock_;
  const ServerTable& servers_;
  FetchActions& actions_;
  IndexedHeap<WindowEntry> queue_;  // By need.
  std::deque<absl::Time> breaks_;   // Of streams that were up, lately.
  absl::Time tell_at_ = absl::InfinitePast();
  std::optional<Accusation> accusation_;
  WindowEntry* window_ = nullptr;
  ServerEntry* server_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SUSPECTS_H_
