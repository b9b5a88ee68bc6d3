// Connects to servers, leaves them, and reports those that stay away.
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

// Opens and closes streams, and keeps the server states that follow from that. It is told which
// server to connect, drain or refuse. It answers whether the job can go on with the remaining
// servers. About windows and requests it knows only how many a server has outstanding. Not
// thread-safe.
class Connections {
 public:
  // Whether reconnecting cannot help: the server understood and refused. kDataLoss is not among
  // these codes: it means that a part was damaged on its way.
  static bool IsRefusal(absl::StatusCode code);
  // Most servers that restart are back within this time. A server that was up for this long counts
  // as away anew when it is lost.
  static constexpr absl::Duration kTellAfter = absl::Seconds(5);

  // `clock`, `servers` and `actions` must outlive it. `credit_bytes` is the number of bytes that a
  // server may be asked for before it sends its credit. The job ends when no server was usable for
  // `server_timeout`.
  Connections(const ProcessClock& clock, ServerTable& servers, FetchActions& actions,
              uint64_t credit_bytes, absl::Duration server_timeout)
      : clock_(clock),
        servers_(servers),
        actions_(actions),
        credit_bytes_(credit_bytes),
        server_timeout_(server_timeout) {}

  void Connect(ServerEntry& server);
  void Close(const ServerEntry& server) { actions_.CloseStream(servers_.stream(server.index)); }
  // Tries the server again later, when the cause may have been fixed.
  void Refuse(ServerEntry& server, Refusal refusal);
  // Lets the server finish its outstanding requests. CloseDrained() closes it then.
  void Drain(ServerEntry& server);
  // Closes the draining servers that owe no answer. Each may be tried again later. Calls `remove`
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
  // Closes all streams because the job has ended. Further calls do nothing.
  void CloseAll();
  bool all_closed() const { return closed_; }

  // The user is told once that a server stays away, and once that it is back. The user is
  // told again at intervals that a server refuses.
  void NoteAway(ServerEntry& server);
  void NoteBack(ServerEntry& server);
  // The server reports that requests wait: for a thread if `working`, otherwise for its memory. It
  // still counts as usable, unless it goes on reporting this and sends nothing.
  void NoteWaits(ServerEntry& server, bool working);

  // Call this when the set of servers was reported. `all_known` says that no name or file is still
  // to be read.
  void NoteSet(bool all_known);
  // Call this when a server has sent Hello.
  void NoteHello() { heard_hello_ = true; }
  // Returns the error that ends the job if every server is refused and there is no hope, otherwise
  // OK. There is hope if another server may come. There is also hope if rows have come before and a
  // server is refused for its access, because somebody may put a token back.
  absl::Status CheckRefused() const;
  // The error that ends the job if no server has the data, with each server's reason.
  absl::Status NobodyHasTheData(absl::StatusCode code) const;
  // Returns the error that ends the job, with `more` at its end, if no server was usable for too
  // long. Otherwise returns OK.
  absl::Status CheckAlone(absl::string_view more);
  // Whether CheckAlone() or CloseDrained() has something to do now.
  bool IsDue() const;
  // The time at which CheckAlone() fails if no server becomes usable.
  absl::Time AloneUntil() const;

 private:
  bool OthersMayCome() const;
  absl::Duration LongestRefusedWait(const ServerEntry& server) const;
  void NoteRefused(ServerEntry& server);
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
  bool all_known_ = true;     // The argument `all_known` of the last NoteSet().
  bool heard_hello_ = false;
  bool rows_came_ = false;
  // The time since which no server is usable; absent while one is.
  std::optional<absl::Time> alone_since_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_CONNECTIONS_H_
