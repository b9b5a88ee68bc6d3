// Servers that are up: connects to them, leaves them, and reports those that stay away.
#ifndef PENSTOCK_CLIENT_FETCH_CONNECTIONS_H_
#define PENSTOCK_CLIENT_FETCH_CONNECTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/process_clock.h"
#include "client/fetch/server_table.h"

namespace penstock {

// Opens and closes streams, and keeps the states of servers that follow from that. It is told which
// server to connect, drain or refuse; it answers whether the job can go on with those that are
// left. It knows nothing of windows and requests beyond how many a server has outstanding. Not
// thread-safe.
class Connections {
 public:
  // Codes that no reconnecting cures: the server understood and said no. kDataLoss is none of them:
  // it means that a part was damaged on its way.
  static bool IsRefusal(absl::StatusCode code);
  // Most servers that restart are back before. One that was up for so long is no longer the one
  // that was away.
  static constexpr absl::Duration kTellAfter = absl::Seconds(5);

  // `clock`, `servers` and `actions` must outlive it. `credit_bytes`: what a server may be asked
  // for before it says more. The job ends when no server was usable for `server_timeout`.
  Connections(const ProcessClock& clock, ServerTable& servers, FetchActions& actions,
              uint64_t credit_bytes, absl::Duration server_timeout)
      : clock_(clock),
        servers_(servers),
        actions_(actions),
        credit_bytes_(credit_bytes),
        server_timeout_(server_timeout) {}

  void Connect(ServerEntry& server);
  void Close(const ServerEntry& server) { actions_.CloseStream(servers_.stream(server.index)); }
  // It is asked again later: someone may have mended what it was refused for.
  void Refuse(ServerEntry& server);
  // It answers what it was asked, and is then closed by CloseDrained().
  void Drain(ServerEntry& server);
  // Closes those that drain and owe nothing more; later they may be tried again. `remove` is called
  // for each that has left the set.
  template <typename Remove>
  void CloseDrained(const Remove& remove) {
    std::erase_if(draining_, [&](ServerEntry* server) {
      if (server->state != ServerState::kDraining) return true;
      if (server->outstanding_requests > 0) return false;
      LeaveDrained(*server);
      if (server->removed) remove(*server);
      BackOffDrained(*server);
      return true;
    });
  }
  // The job has ended. Does nothing the second time.
  void CloseAll();
  bool all_closed() const { return closed_; }

  // A person is told once of a server that stays away, and when it is back.
  void NoteAway(ServerEntry& server);
  void NoteBack(ServerEntry& server);
  // The server has said that requests wait for its memory. It is well all the same, unless it goes
  // on saying so and sends nothing.
  void NoteStarved(ServerEntry& server);

  // The set of servers was told. `all_known`: no name or file is still to be read.
  void NoteSet(bool all_known);
  // Some server has said Hello.
  void NoteHello() { heard_hello_ = true; }
  // Every server refuses, and no other can come: the error that ends the job. OK: not so.
  absl::Status CheckRefused() const;
  // No server was usable for too long: the error that ends the job, with `more` at its end.
  absl::Status CheckAlone(absl::string_view more);
  // Whether CheckAlone() or CloseDrained() has something to do now.
  bool IsDue() const;
  // When CheckAlone() fails if no server becomes usable.
  absl::Time AloneUntil() const;

 private:
  bool OthersMayCome() const;
  void LeaveDrained(ServerEntry& server);
  void BackOffDrained(ServerEntry& server);

  const ProcessClock& clock_;
  ServerTable& servers_;
  FetchActions& actions_;
  const uint64_t credit_bytes_;
  const absl::Duration server_timeout_;
  std::vector<ServerEntry*> draining_;
  bool closed_ = false;
  bool set_changes_ = false;  // NoteSet() was called.
  bool all_known_ = true;     // As it said.
  bool heard_hello_ = false;
  std::optional<absl::Time> alone_since_;  // No server has been usable since then.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_CONNECTIONS_H_
