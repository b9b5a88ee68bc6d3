// Servers: connecting, losing, draining, and what is to be done about them in time.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/fetch/scheduler.h"
#include "records/base/status.h"

namespace penstock {
namespace {

// Codes that no reconnecting cures: the server understood and said no. kDataLoss is none of them:
// it means that a part was damaged on its way.
bool IsRefusal(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument ||
         code == absl::StatusCode::kFailedPrecondition ||
         code == absl::StatusCode::kPermissionDenied ||
         code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kUnimplemented ||
         code == absl::StatusCode::kNotFound;
}

// Streams of one process that ended so, before it is refused; from then on for each further one.
constexpr uint32_t kMaxNonsense = 3;
// Someone may have mended what it was refused for: a token, a release.
constexpr absl::Duration kAskRefusedAfter = absl::Seconds(30);
// Most servers that restart are back before. One that was up for so long is no longer the one that
// was away.
constexpr absl::Duration kTellAfter = absl::Seconds(5);

uint64_t KeyOf(absl::Time time) {
  return static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixNanos(time), 0));
}

}  // namespace

// Looks at `server` at that time or before.
void FetchScheduler::Arm(ServerEntry& server, absl::Time time) {
  if (time == absl::InfiniteFuture()) return;
  if (server.queued.heap != nullptr && timers_.key(server) <= KeyOf(time)) return;
  IndexedHeap<ServerEntry>::Leave(server);
  timers_.Push(KeyOf(time), server);
}

void FetchScheduler::FireTimers() {
  if (servers_.AllRefused() && !OthersMayCome()) {
    return Fail(absl::Status(servers_.FirstRefusal().code(),
                             absl::StrCat("no server can be used: ", servers_.Reasons())));
  }
  while (!ended_ && !timers_.empty() && timers_.front_key() <= KeyOf(now_)) {
    ServerEntry& server = timers_.front();
    IndexedHeap<ServerEntry>::Leave(server);
    Arm(server, std::max(CheckServer(server), now_ + absl::Milliseconds(1)));
  }
}

// Does what is due; when to look again.
absl::Time FetchScheduler::CheckServer(ServerEntry& server) {
  switch (server.state) {
    case ServerState::kRefused:
    case ServerState::kBackoff:
      if (server.retry_at > now_) return server.retry_at;
      Connect(server);
      return now_ + options_.silence_timeout;
    case ServerState::kConnecting:
      if (now_ < server.heard_at + options_.silence_timeout) {
        return server.heard_at + options_.silence_timeout;
      }
      Lose(server, absl::UnavailableError(absl::StrCat(
                       "silent for ", absl::FormatDuration(options_.silence_timeout))));
      return server.retry_at;
    case ServerState::kUp:
    case ServerState::kDraining:
      return CheckUp(server);
    case ServerState::kRemoved:
      break;
  }
  return absl::InfiniteFuture();
}

absl::Time FetchScheduler::CheckUp(ServerEntry& server) {
  absl::Time next = CheckSlow(server);
  if (quarantine_ == &server && LoadsSuspect(server)) {
    const absl::Time give_up =
        std::max(server.heard_at, quarantined_->opened_at) + options_.silence_timeout;
    if (now_ < give_up) return std::min(next, give_up);
    Lose(server, absl::UnavailableError("silent while it loads"), /*silent=*/true);
    return server.retry_at;
  }
  if (server.outstanding_requests == 0) return next;
  absl::string_view complaint;
  // A probe gets its time even where all was taken away because the server said nothing.
  const bool probed = server.outstanding_requests == 1 && server.probe != nullptr &&
                      now_ < ProbeDueBy(*server.probe);
  const absl::Time silent_at =
      probed ? absl::InfiniteFuture() : server.heard_at + options_.silence_timeout;
  if (now_ >= silent_at) complaint = "silent";
  if (now_ >= server.drain_by) complaint = "not done with what it was asked before its grace ended";
  for (const RequestEntry* r = server.first_request; r != nullptr; r = r->later) {
    const absl::Time heard = r->window->ready() ? r->active_at : server.loaded_at;
    const absl::Time since = std::max({r->active_at, heard, server.starved_at});
    if (now_ >= since + 3 * options_.silence_timeout) complaint = "leaving a request unanswered";
  }
  if (!complaint.empty()) {
    Lose(server,
         absl::UnavailableError(absl::StrCat(
             complaint, ", the last word ",
             absl::FormatDuration(absl::Trunc(now_ - server.heard_at, absl::Milliseconds(1))),
             " ago")),
         /*silent=*/true);
    return server.retry_at;
  }
  // It may load for long, but not for ever: then it no longer keeps the job alive.
  const absl::Time first_row_by =
      std::max(server.up_at, server.starved_at) + 3 * options_.silence_timeout;
  if (!server.productive && server.barren == 0) {
    if (now_ >= first_row_by) servers_.MarkBarren(server);
    next = std::min(next, first_row_by);
  }
  next = std::min({next, server.drain_by, silent_at});
  return std::min(next, CheckLate(server));
}

void FetchScheduler::Connect(ServerEntry& server) {
  servers_.SetState(server, ServerState::kConnecting);
  ++server.generation;
  server.heard_at = now_;
  server.away_since = std::min(server.away_since, now_);
  server.drain_by = absl::InfiniteFuture();
  server.credit_bytes = options_.fetch_bytes;  // Until the server says more.
  server.credited = false;
  server.open_windows = 0;
  actions_.OpenStream(servers_.stream(server.index), server.address);
}

void FetchScheduler::CloseStreamOf(const ServerEntry& server) {
  actions_.CloseStream(servers_.stream(server.index));
}

void FetchScheduler::Lose(ServerEntry& server, absl::Status status, bool silent) {
  const bool was_up = server.state != ServerState::kConnecting;
  // After Hello it means that the server's answers make no sense. Others may be better.
  const bool nonsense = was_up && status.code() == absl::StatusCode::kFailedPrecondition;
  // As it does when it dies. One that says that it has had enough is well, and one whose answer is
  // too large for gRPC, too.
  const bool broken =
      was_up && !nonsense && !silent && status.code() != absl::StatusCode::kResourceExhausted;
  if (was_up && !nonsense && IsRefusal(status.code())) {
    // The transport may have named the server already.
    const bool named = absl::StartsWith(status.message(), server.address);
    return Fail(named ? status : Annotate(status, server.address));
  }
  if (silent || broken) LoseSuspect(server, status, silent);
  server.nonsense += nonsense;
  const bool refused =
      (!was_up && IsRefusal(status.code())) || (nonsense && server.nonsense >= kMaxNonsense);
  server.counted.breaks += was_up;
  if (was_up && now_ >= server.up_at + kTellAfter) server.away_since = absl::InfiniteFuture();
  server.away_since = std::min(server.away_since, silent ? server.heard_at : now_);
  servers_.BackOff(server, now_, std::move(status));
  if (refused) {
    Refuse(server);
  } else if (IsAccusing(server)) {
    HearNothing();
  }
  if (ended_) return;
  if (server.removed) Remove(server);
  NoteAway(server);
  CloseStreamOf(server);
  Arm(server, server.retry_at);
  if (was_up) {
    LoseWindowsOf(server, broken);
    PlaceBy(now_);
  } else if (!placed_once_ && servers_.AnyUp() && servers_.AllSettled()) {
    PlaceBy(now_);
  }
}

void FetchScheduler::Refuse(ServerEntry& server) {
  if (IsAccusing(server)) Withdraw();
  servers_.SetState(server, ServerState::kRefused);
  server.retry_at = now_ + kAskRefusedAfter;
  Arm(server, server.retry_at);
}

// Where that ends the job, its error says so.
void FetchScheduler::NoteAway(ServerEntry& server) {
  if (server.removed) return;
  using Told = ServerEntry::Told;
  const Told news = server.state == ServerState::kRefused ? Told::kRefused : Told::kAway;
  if (server.told == news) return;
  const absl::Duration away = absl::Trunc(now_ - server.away_since, absl::Seconds(1));
  const bool ends = servers_.AllRefused() && !OthersMayCome();
  if (news == Told::kRefused ? ends : away < kTellAfter) return;
  server.told = news;
  actions_.Report(absl::StrCat(
      ServerTable::Reason(server),
      news == Told::kRefused
          ? absl::StrCat(": asked again every ", absl::FormatDuration(kAskRefusedAfter))
          : absl::StrCat(": away for ", absl::FormatDuration(away), ", still tried")));
}

// Its rows have come. Hello alone is no news: it may die of what it is asked next.
void FetchScheduler::NoteBack(ServerEntry& server) {
  server.away_since = absl::InfiniteFuture();
  if (std::exchange(server.told, ServerEntry::Told::kNothing) == ServerEntry::Told::kNothing)
    return;
  actions_.Report(absl::StrCat(server.address, " is there again"));
}

void FetchScheduler::Remove(ServerEntry& server) {
  if (IsAccusing(server)) accusation_.reset();  // Nobody will know.
  servers_.SetState(server, ServerState::kRemoved);
  server.away_since = absl::InfiniteFuture();
  server.told = ServerEntry::Told::kNothing;
  answers_.Forget(server.index);
  loads_.Forget(server.index);
}

// What was in flight is wanted again, at once and elsewhere.
void FetchScheduler::LoseWindowsOf(ServerEntry& server, bool broken) {
  lane_server_.clear();
  if (broken) CountBreak();
  DropProbe(server);
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    const bool in_flight = window.requests > 0 || !window.ready();
    window.breaks += broken && in_flight && window.opened_on == stream;
  });
  while (server.first_request != nullptr) {
    ++server.counted.lost_requests;
    RequestEntry& request = *server.first_request;
    ReturnClaims(request, broken);
    EndRequest(request);
  }
  windows_.ForEach([&](WindowEntry& window) {
    if (!(window.opened_on == stream)) return;
    window.load_breaks += broken && !window.ready();
    window.opened_on.reset();
    window.suspect |= IsStillSuspect(window);
    Requeue(window);
  });
  server.open_windows = 0;
  if (quarantine_ == &server) EndQuarantine();
}

// What is still wanted of its windows is asked elsewhere; its requests are answered.
void FetchScheduler::Drain(ServerEntry& server) {
  lane_server_.clear();
  CancelProbe(server);
  const StreamId stream = servers_.stream(server.index);
  servers_.SetState(server, ServerState::kDraining);
  draining_.push_back(&server);
  windows_.ForEach([&](WindowEntry& window) {
    if (!(window.opened_on == stream)) return;
    window.opened_on.reset();
    Requeue(window);
  });
  server.open_windows = 0;
  if (quarantine_ == &server) EndQuarantine();
  PlaceBy(now_);
}

// A server that drains and owes nothing more is left; later it may be tried again.
void FetchScheduler::CloseDrained() {
  std::erase_if(draining_, [this](ServerEntry* server) {
    if (server->state != ServerState::kDraining) return true;
    if (server->outstanding_requests > 0) return false;
    CloseStreamOf(*server);
    servers_.SetState(*server, ServerState::kBackoff);
    if (server->removed) Remove(*server);
    server->backoff = ServerTable::kMaxBackoff;
    server->retry_at = server->heard_at + server->backoff;
    server->last_error = absl::UnavailableError("drained");
    Arm(*server, server->retry_at);
    return true;
  });
}

void FetchScheduler::CloseAll() {
  if (std::exchange(closed_, true)) return;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].has_stream()) CloseStreamOf(servers_[i]);
    servers_.SetState(servers_[i], ServerState::kRemoved);
  }
}

// Beside those that refuse: a name or file is still to be read, or one that was up is out of the
// set, maybe only for one look.
bool FetchScheduler::OthersMayCome() const {
  return set_changes_ && (!all_known_ || settle_by_.has_value());
}

void FetchScheduler::CheckAlone() {
  if (servers_.AnyUsable()) return alone_since_.reset();
  if (!alone_since_) alone_since_ = now_;
  if (now_ < *alone_since_ + options_.server_timeout) return;
  Fail(absl::UnavailableError(absl::StrCat(
      "no server could be used for ", absl::FormatDuration(options_.server_timeout), ": ",
      servers_.Reasons(), accusation_ ? absl::StrCat("; ", accusation_->death.message()) : "")));
}

absl::Time FetchScheduler::NextAdvance() const { return NextCheck() + stood_still_; }

absl::Time FetchScheduler::NextCheck() const {
  if (ended_) return closed_ ? absl::InfiniteFuture() : now_;
  for (const ServerEntry* server : draining_) {
    if (server->outstanding_requests == 0) return now_;
  }
  if (!alone_since_ && !servers_.AnyUsable()) return now_;  // That time runs from now on.
  absl::Time wake = place_at_;
  if (!timers_.empty()) {
    wake = std::min(wake, absl::FromUnixNanos(static_cast<int64_t>(timers_.front_key())));
  }
  if (alone_since_) wake = std::min(wake, *alone_since_ + options_.server_timeout);
  if (!delayed_.empty()) wake = std::min(wake, delayed_.front().retry_at);
  return wake;
}

void FetchScheduler::Fail(absl::Status status) {
  ended_ = true;
  actions_.Fail(std::move(status));
}

}  // namespace penstock
