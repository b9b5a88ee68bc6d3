// Finds deadly windows: those that may kill servers.
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

// A suspect window is requested alone, because it may kill servers. So it cannot kill the fleet,
// and the next death proves that it is deadly.
//
// This part queues suspects, puts one after the other into quarantine, and judges the deaths of
// servers that were asked for nothing else. It is told of broken streams and of servers that come
// back. It answers with the error that ends the job, or OK. It opens nothing and requests nothing,
// and of a window it changes only breaks_alone and withdrawn. Not thread-safe.
class Suspects {
 public:
  // `clock`, `servers` and `actions` must outlive it.
  Suspects(const ProcessClock& clock, const ServerTable& servers, FetchActions& actions)
      : clock_(clock), servers_(servers), actions_(actions) {}

  // Whether so many streams broke while the window was loaded, or its rows were claimed, that it is
  // requested alone.
  static bool IsStillSuspect(const WindowEntry& window);

  // Lets the window wait for its turn. It can leave like an entry of any heap.
  void Add(WindowEntry& window) { queue_.Push(window.NeededAt(), window); }
  // Returns the window in quarantine. If there is none, it first puts the next one in. Returns null
  // if no window waits.
  WindowEntry* Next();
  // The window in quarantine, or null if there is none.
  WindowEntry* window() const { return window_; }
  // The server that is kept free for the window, or null if there is none yet.
  ServerEntry* server() const { return server_; }
  void set_server(ServerEntry* server) { server_ = server; }
  // Ends the quarantine: the window has proved harmless, or its server is gone for another reason.
  void End() {
    window_ = nullptr;
    server_ = nullptr;
  }
  // Whether the server was asked to load the suspect and has not done so yet.
  bool LoadsSuspect(const ServerEntry& server) const;

  // Counts the break of a stream that was up.
  void CountBreak();
  // Handles a stream that broke or, if `silent`, was given up. Returns true if the window in
  // quarantine must avoid the server, because the server may have failed for another reason.
  bool OnLost(const ServerEntry& server, const absl::Status& status, bool silent);

  // Whether a death still has to be explained. Until then no other window is put into quarantine.
  bool IsAccusing() const { return accusation_.has_value(); }
  bool IsAccusing(const ServerEntry& server) const;
  // The error that ends the job if the accusation holds. REQUIRES: IsAccusing().
  const absl::Status& death() const { return accusation_->death; }
  // Call this while the accused window's server is still away. While all servers are away, the
  // network may be the cause.
  absl::Status HearNothing();
  // Call this when the server came back as another process, which proves that it died.
  absl::Status Confirm();
  // Call this when the server proved to be alive. Streams may still break because of the window, so
  // it is not tried for ever.
  absl::Status Withdraw();
  // Drops the accusation, because the cause will never be known.
  void Drop() { accusation_.reset(); }
  // Forgets a window that is no longer needed.
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
  IndexedHeap<WindowEntry> queue_;  // Ordered by need.
  std::deque<absl::Time> breaks_;   // Times of the recent breaks of streams that were up.
  absl::Time tell_at_ = absl::InfinitePast();
  std::optional<Accusation> accusation_;
  WindowEntry* window_ = nullptr;
  ServerEntry* server_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SUSPECTS_H_
