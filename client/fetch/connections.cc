#include "client/fetch/connections.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// The operator may fix the cause of a refusal at any moment: a token, a release, a mount. So the
// longest wait before a server that refused is tried again is this part of the time after which a
// job without servers ends.
constexpr int kRefusedTries = 6;
constexpr absl::Duration kMostRefusedWait = absl::Seconds(30);
constexpr absl::Duration kTellRefusedEvery = absl::Minutes(5);
constexpr absl::Duration kTellStarvedEvery = absl::Minutes(1);
// A server that reports for this long that requests wait, and sends no row, is not waited for any
// more.
constexpr absl::Duration kMostStarved = absl::Minutes(30);

absl::string_view WhereShardsAre(const ServerTable& servers) {
  return servers[0].address == "local:"
             ? "; shard paths are relative to --data-root, by default the manifest's folder"
             : "; shard paths are relative to the servers' --data-root: check that "
               "the manifest belongs to the data there";
}

}  // namespace

bool Connections::IsRefusal(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument ||
         code == absl::StatusCode::kFailedPrecondition ||
         code == absl::StatusCode::kPermissionDenied ||
         code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kUnimplemented ||
         code == absl::StatusCode::kNotFound;
}

void Connections::Connect(ServerEntry& server) {
  servers_.SetState(server, ServerState::kConnecting);
  ++server.generation;
  server.heard_at = clock_.now();
  server.away_since = std::min(server.away_since, clock_.now());
  server.drain_by = absl::InfiniteFuture();
  server.credit_bytes = credit_bytes_;  // Holds until the server sends its credit.
  server.credited = false;
  server.cancelled_rows = 0;
  server.open_windows = 0;
  actions_.OpenStream(servers_.stream(server.index), server.address);
}

absl::Duration Connections::LongestRefusedWait(const ServerEntry& server) const {
  if (server.refusal == Refusal::kAnswers) return kMostRefusedWait;
  return std::clamp(server_timeout_ / kRefusedTries, ServerTable::kFirstBackoff, kMostRefusedWait);
}

void Connections::Refuse(ServerEntry& server, Refusal refusal) {
  server.refusal = refusal;
  if (refusal == Refusal::kAnswers) server.refused_wait = kMostRefusedWait;
  servers_.Refuse(server, clock_.now(), LongestRefusedWait(server));
}

void Connections::Drain(ServerEntry& server) {
  servers_.SetState(server, ServerState::kDraining);
  draining_.push_back(&server);
}

void Connections::LeaveDrained(ServerEntry& server) {
  Close(server);
  servers_.SetState(server, ServerState::kBackoff);
}

void Connections::BackOffDrained(ServerEntry& server) {
  server.backoff = ServerTable::kMaxBackoff;
  server.retry_at = server.heard_at + server.backoff;
  server.last_error = absl::UnavailableError("drained");
  servers_.Arm(server, server.retry_at);
}

void Connections::CloseAll() {
  if (std::exchange(closed_, true)) return;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].has_stream()) Close(servers_[i]);
    servers_.SetState(servers_[i], ServerState::kRemoved);
  }
}

void Connections::NoteAway(ServerEntry& server) {
  if (server.removed) return;
  if (server.state == ServerState::kRefused) return NoteRefused(server);
  const absl::Duration away = absl::Trunc(clock_.now() - server.away_since, absl::Seconds(1));
  if (server.told == ServerEntry::Told::kAway || away < kTellAfter) return;
  server.told = ServerEntry::Told::kAway;
  actions_.Report(absl::StrCat(ServerTable::Reason(server), "; unreachable for ",
                               absl::FormatDuration(away), ", still retrying"));
}

// If the job ends because of the refusal, the job's error says so instead.
void Connections::NoteRefused(ServerEntry& server) {
  if (clock_.now() < server.tell_refused_at || !CheckRefused().ok()) return;
  server.tell_refused_at = clock_.now() + kTellRefusedEvery;
  server.told = ServerEntry::Told::kRefused;
  actions_.Report(absl::StrCat(ServerTable::Reason(server),
                               "; the server is left out, and tried again at least every ",
                               absl::FormatDuration(LongestRefusedWait(server) * 5 / 4)));
}

// Called when rows have come. Hello alone does not count, because the next request may kill the
// server. A server that refused must stay for a while, because the next window may be one that it
// lacks.
void Connections::NoteBack(ServerEntry& server) {
  rows_came_ = true;
  server.away_since = absl::InfiniteFuture();
  using Told = ServerEntry::Told;
  if (server.refused_wait > absl::ZeroDuration()) {
    if (clock_.now() < server.up_at + kTellAfter) return;
    server.refused_wait = absl::ZeroDuration();
  }
  if (std::exchange(server.told, Told::kNothing) == Told::kNothing) return;
  actions_.Report(absl::StrCat(server.address, " answers again"));
}

// The server reported this itself, so it is well.
void Connections::NoteWaits(ServerEntry& server, bool working) {
  server.starved_since = std::min(server.starved_since, clock_.now());
  if (clock_.now() >= server.starved_since + kMostStarved) return;
  server.starved_at = clock_.now();
  if (clock_.now() < server.told_starved_at + kTellStarvedEvery) return;
  server.told_starved_at = clock_.now();
  actions_.Report(absl::StrCat(
      server.address,
      working ? ": busy, so rows come slowly: it has more clients than it has time for, "
                "or rows that take seconds to decode; add servers or cores"
              : ": not enough memory for all clients that read at once, so they take "
                "turns; raise --memory-budget of penstock-server"));
}

void Connections::NoteSet(bool all_known) {
  set_changes_ = true;
  all_known_ = all_known;
}

absl::Status Connections::CheckRefused() const {
  if (!servers_.AllRefused() || OthersMayCome()) return absl::OkStatus();
  const bool access = servers_.AnyRefusedFor(Refusal::kAccess);
  if (access && rows_came_) return absl::OkStatus();
  if (!access && !servers_.AnyRefusedFor(Refusal::kAnswers)) {
    return NobodyHasTheData(servers_.FirstRefusal().code());
  }
  return absl::Status(servers_.FirstRefusal().code(),
                      absl::StrCat("every server refused this client: ", servers_.Reasons()));
}

absl::Status Connections::NobodyHasTheData(absl::StatusCode code) const {
  const bool missing = code == absl::StatusCode::kNotFound;
  return absl::Status(code,
                      absl::StrCat(servers_.Reasons(), missing ? WhereShardsAre(servers_) : ""));
}

absl::Status Connections::CheckAlone(absl::string_view more) {
  if (servers_.AnyUsable()) {
    alone_since_.reset();
    return absl::OkStatus();
  }
  if (!alone_since_) alone_since_ = clock_.now();
  if (clock_.now() < AloneUntil()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("no server could be used for ",
                                             absl::FormatDuration(server_timeout_), ": ",
                                             servers_.Reasons(), more));
}

bool Connections::IsDue() const {
  const auto is_drained = [](const ServerEntry* server) {
    return server->outstanding_requests == 0;
  };
  if (std::any_of(draining_.begin(), draining_.end(), is_drained)) return true;
  return !alone_since_ && !servers_.AnyUsable();  // The time without servers begins now.
}

absl::Time Connections::AloneUntil() const {
  return alone_since_ ? *alone_since_ + server_timeout_ : absl::InfiniteFuture();
}

// Whether a server that does not refuse may come. Either a name or file is still to be read, or a
// server that was up has left the set, perhaps only for one look.
bool Connections::OthersMayCome() const { return set_changes_ && (!all_known_ || heard_hello_); }

}  // namespace penstock
