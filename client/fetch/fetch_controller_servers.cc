// Handles servers: the checks that are due at each time, and the loss of a server.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/fetch/fetch_controller.h"

namespace penstock {
namespace {

// A process is refused after this many streams that ended in nonsense, and after each further one.
constexpr uint32_t kMaxNonsense = 3;
constexpr absl::Duration kProbeLater = absl::Milliseconds(50);

// Whether a connected server says with this code that the client asks what no server grants. A
// token or a permission may be put back.
bool EndsJob(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kUnimplemented;
}

Refusal CauseOf(absl::StatusCode code, bool lacks_data, bool nonsense) {
  if (nonsense) return Refusal::kAnswers;
  const bool access = code == absl::StatusCode::kPermissionDenied;
  return lacks_data && !access ? Refusal::kData : Refusal::kAccess;
}

std::string LateLine(const ServerEntry& server, absl::Duration limit) {
  return absl::StrCat(server.address, " keeps missing its deadline of ",
                      absl::FormatDuration(absl::Trunc(limit, absl::Microseconds(1))),
                      ": it gets no new windows and is tried again every ",
                      absl::FormatDuration(server.penalty));
}

}  // namespace

void FetchController::FireTimers() {
  EndIf(connections_.CheckRefused());
  while (!ended_) {
    ServerEntry* server = servers_.TakeDue(clock_.now());
    if (server == nullptr) return;
    const absl::Time next = CheckServer(*server);
    servers_.Arm(*server, std::max(next, clock_.now() + absl::Milliseconds(1)));
  }
}

// Does what is due. Returns when to look again.
absl::Time FetchController::CheckServer(ServerEntry& server) {
  switch (server.state) {
    case ServerState::kRefused:
    case ServerState::kBackoff:
      if (server.retry_at > clock_.now()) return server.retry_at;
      connections_.Connect(server);
      return clock_.now() + options_.silence_timeout;
    case ServerState::kConnecting:
      if (clock_.now() < server.heard_at + options_.silence_timeout) {
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

absl::Time FetchController::CheckUp(ServerEntry& server) {
  if (clock_.now() >= server.tell_slow_at) {
    server.tell_slow_at = absl::InfiniteFuture();
    server.told_slow = true;
    actions_.Report(LateLine(server, lateness_.AnswerLimit(0)));
  }
  absl::Time next = std::min(CheckSlow(server), server.tell_slow_at);
  if (suspects_.server() == &server && suspects_.LoadsSuspect(server)) {
    const absl::Time opened_at = suspects_.window()->opened_at;
    // The server must load the window in the end, whatever else it sends meanwhile.
    const absl::Time give_up =
        std::min(std::max(server.alive_at(), opened_at) + options_.silence_timeout,
                 std::max(server.starved_at, opened_at) + 3 * options_.silence_timeout);
    if (clock_.now() < give_up) return std::min(next, give_up);
    Lose(server, absl::UnavailableError("silent while it loads a window"), Loss::kSilent);
    return server.retry_at;
  }
  if (server.outstanding_requests == 0) return next;
  absl::string_view complaint;
  // A probe gets its time even if the server lost all windows because of its silence.
  const bool probed = server.outstanding_requests == 1 && server.probe != nullptr &&
                      clock_.now() < lateness_.ProbeDueBy(*server.probe);
  const absl::Time silent_at =
      probed ? absl::InfiniteFuture() : server.alive_at() + options_.silence_timeout;
  if (clock_.now() >= silent_at) complaint = "silent";
  if (clock_.now() >= server.drain_by)
    complaint = "did not finish its requests before its drain time (--grace) ended";
  for (const RequestEntry* r = server.first_request; r != nullptr; r = r->later) {
    const absl::Time heard = r->window->ready() ? r->active_at : server.loaded_at;
    const absl::Time since = std::max({r->active_at, heard, server.starved_at});
    if (clock_.now() >= since + 3 * options_.silence_timeout)
      complaint = "does not answer a request";
  }
  if (!complaint.empty()) {
    Lose(server,
         absl::UnavailableError(
             absl::StrCat(complaint, "; its last message came ",
                          absl::FormatDuration(
                              absl::Trunc(clock_.now() - server.heard_at, absl::Milliseconds(1))),
                          " ago")),
         Loss::kSilent);
    return server.retry_at;
  }
  // A load may take long, but not for ever: after this time it no longer keeps the job alive.
  const absl::Time first_row_by =
      std::max(server.up_at, server.starved_at) + 3 * options_.silence_timeout;
  if (!server.productive && server.barren == 0) {
    if (clock_.now() >= first_row_by) servers_.MarkBarren(server);
    next = std::min(next, first_row_by);
  }
  next = std::min({next, server.drain_by, silent_at});
  return std::min(next, CheckLate(server));
}

// Takes away the windows whose requests missed their deadline. Returns when to look again.
absl::Time FetchController::CheckLate(ServerEntry& server) {
  const absl::Time next = lateness_.FindLate(server, late_windows_);
  if (late_windows_.empty()) return next;
  if (lateness_.MayBeSlow(server)) MarkSlow(server);
  Place();
  if (server.slow && lateness_.IsSilent(server)) {
    fetcher_.TakeAll(server);
    return next;
  }
  std::sort(late_windows_.begin(), late_windows_.end(),
            [](WindowEntry* a, WindowEntry* b) { return a->start < b->start; });
  for (WindowEntry* window : late_windows_) fetcher_.TakeLate(server, *window);
  return next;
}

void FetchController::MarkSlow(ServerEntry& server) {
  if (server.slow || server.state != ServerState::kUp) return;
  lateness_.MarkSlow(server);
  placement_.PlaceBy(clock_.now());
}

// Probes the server when it is time. Returns when to look again.
absl::Time FetchController::CheckSlow(ServerEntry& server) {
  if (!server.slow) return absl::InfiniteFuture();
  if (server.probe != nullptr) {
    const absl::Time due = lateness_.ProbeDueBy(*server.probe);
    if (clock_.now() < due) return due;
    // The server will be given up as lost.
    if (clock_.now() >= server.alive_at() + options_.silence_timeout) return due;
    FailProbe(server);
  }
  if (clock_.now() < server.probe_at) return server.probe_at;
  if (server.state != ServerState::kUp) return absl::InfiniteFuture();
  if (server.outstanding_requests > 0 || server.isolated) return clock_.now() + kProbeLater;
  const RequestEntry* probe = fetcher_.Probe(server);
  return probe == nullptr ? clock_.now() + kProbeLater : lateness_.ProbeDueBy(*probe);
}

void FetchController::FailProbe(ServerEntry& server) {
  fetcher_.CancelProbe(server);
  lateness_.Penalise(server);
}

void FetchController::Trust(ServerEntry& server) {
  lateness_.MarkInTime(server);
  placement_.PlaceBy(clock_.now());
  if (!std::exchange(server.told_slow, false)) return;
  actions_.Report(absl::StrCat(server.address, " meets its deadline again"));
}

void FetchController::Lose(ServerEntry& server, absl::Status status, Loss loss) {
  const bool silent = loss == Loss::kSilent;
  const bool lacks = loss == Loss::kLacksData;
  const bool was_up = server.state != ServerState::kConnecting;
  // After Hello this code means that the server's answers make no sense. Other servers may be
  // better.
  const bool nonsense = was_up && !lacks && status.code() == absl::StatusCode::kFailedPrecondition;
  // Whether the server may have died. A server that reports a limit is well, and so is one whose
  // answer is too large for gRPC.
  const bool refusal = Connections::IsRefusal(status.code());
  const bool broken =
      was_up && !refusal && !silent && status.code() != absl::StatusCode::kResourceExhausted;
  if (was_up && EndsJob(status.code())) {
    // The transport may have put the address in front already.
    const bool named = absl::StartsWith(status.message(), server.address);
    return Fail(named ? status : Annotate(status, server.shown_address()));
  }
  if ((silent || broken) && suspects_.OnLost(server, status, silent)) {
    suspects_.window()->Avoid(server.index);
  }
  server.nonsense += nonsense;
  const Refusal cause = CauseOf(status.code(), lacks, nonsense);
  const bool refused = refusal && (!nonsense || server.nonsense >= kMaxNonsense);
  server.counted.breaks += was_up;
  if (was_up && clock_.now() >= server.up_at + Connections::kTellAfter)
    server.away_since = absl::InfiniteFuture();
  server.away_since = std::min(server.away_since, silent ? server.heard_at : clock_.now());
  servers_.BackOff(server, clock_.now(), std::move(status));
  if (refused) {
    Refuse(server, cause);
  } else if (suspects_.IsAccusing(server)) {
    EndIf(suspects_.HearNothing());
  }
  if (ended_) return;
  if (server.removed) Remove(server);
  connections_.NoteAway(server);
  connections_.Close(server);
  servers_.Arm(server, server.retry_at);
  if (was_up) {
    placement_.Clear();
    if (broken) suspects_.CountBreak();
    fetcher_.LoseWindowsOf(server, broken);
    placement_.PlaceBy(clock_.now());
  } else if (!placement_.placed_once() && servers_.AnyUp() && servers_.AllSettled()) {
    placement_.PlaceBy(clock_.now());
  }
}

void FetchController::Refuse(ServerEntry& server, Refusal refusal) {
  if (suspects_.IsAccusing(server)) EndIf(suspects_.Withdraw());
  connections_.Refuse(server, refusal);
}

void FetchController::Remove(ServerEntry& server) {
  if (suspects_.IsAccusing(server)) suspects_.Drop();  // Whether it died will never be known.
  servers_.SetState(server, ServerState::kRemoved);
  server.away_since = absl::InfiniteFuture();
  server.told = ServerEntry::Told::kNothing;
  lateness_.Forget(server.index);
}

// Requests the rows of its windows that are still wanted from other servers. The draining server
// finishes its outstanding requests.
void FetchController::Drain(ServerEntry& server) {
  placement_.Clear();
  fetcher_.CancelProbe(server);
  connections_.Drain(server);
  fetcher_.LeaveWindowsOf(server);
  placement_.PlaceBy(clock_.now());
}

void FetchController::Place() {
  if (placement_.Place(clock_.now())) fetcher_.FollowPlacement();
}

}  // namespace penstock
