// Errors of windows and requests: what is asked again, of whom, and what ends the job.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/fetch/scheduler.h"
#include "records/base/status.h"

namespace penstock {
namespace {

// Codes that asking again may cure.
bool MayPass(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kResourceExhausted ||
         code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kAborted;
}

// Of a window or of a server, in a row.
constexpr uint32_t kFewFailures = 5;
constexpr absl::Duration kFailureReports = absl::Seconds(10);
// What does not pass meanwhile is taken for a limit.
constexpr absl::Duration kMomentary = absl::Milliseconds(1500);

// Reports of damage in a window without two that agree.
constexpr uint32_t kMaxDamageReports = 20;
// For another server to come up, which could tell whether the only one is right.
constexpr absl::Duration kSecondOpinionWait = absl::Seconds(5);
constexpr absl::Duration kSecondOpinionRetry = absl::Milliseconds(250);

// Once each server has had so many turns; in the first nothing is waited for.
absl::Duration WindowBackoff(uint32_t turns) {
  if (turns == 0) return absl::ZeroDuration();
  return std::min(absl::Milliseconds(50) * (1 << std::min(turns, 6u)), absl::Seconds(2));
}

bool SameRecord(const Damage& a, const Damage& b) {
  return a.shard == b.shard && a.chunk_offset == b.chunk_offset && a.record == b.record &&
         a.rest_of_chunk == b.rest_of_chunk;
}

// What ends the job, as `address` says it.
absl::Status WithAdvice(const absl::Status& status, const std::string& address) {
  const absl::Status named = Annotate(status, absl::StripSuffix(address, ":"));
  if (!absl::IsNotFound(status)) return named;
  const absl::string_view advice =
      address == "local:" ? "; shards are looked for in the manifest's folder, or in --data-root"
                          : "; is this the manifest of the data that lies beneath the servers' "
                            "--data-root? Shards are looked for there";
  return absl::NotFoundError(absl::StrCat(named.message(), advice));
}

}  // namespace

std::string DamageName(const Damage& damage) {
  return absl::StrCat(damage.shard, ": chunk at offset ", damage.chunk_offset, ", record ",
                      damage.record, damage.rest_of_chunk ? " and all that follow in it" : "");
}

void FetchScheduler::OnError(absl::Time now, StreamId stream, const StreamError& error) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return;
  server->heard_at = now_;
  RequestEntry* request = error.request ? requests_.Find(*error.request) : nullptr;
  if (request != nullptr && !(request->stream == stream)) request = nullptr;
  WindowEntry* window = request != nullptr ? request->window
                        : error.window     ? windows_.Find(*error.window)
                                           : nullptr;
  if (window == nullptr) return;  // Given up meanwhile.
  if (server->probe != nullptr && window == server->probe->window) return FailProbe(*server);
  if (request == nullptr && !(window->opened_on == stream)) return;
  const absl::StatusCode code = error.status.code();
  if (code == absl::StatusCode::kDataLoss && error.damage) {
    return OnDamage(*server, *window, error);
  }
  if (error.needs_spare && options_.on_error == OnError::kReplace) {
    return TakeNextSpare(*window, stream, error.status);
  }
  const bool full = request != nullptr && code == absl::StatusCode::kResourceExhausted;
  if (full && WaitsForMemory(*server, *request)) return GiveUpOn(*window, stream);
  CountFailure(*server, *window);
  // An older server, that has no good record and does not say needs_spare: another one may.
  const bool knows_no_spares =
      code == absl::StatusCode::kDataLoss && options_.on_error == OnError::kReplace;
  if ((!MayPass(code) && !knows_no_spares) || FailedForGood(*server, *window, code)) {
    return Fail(WithAdvice(error.status, server->address));
  }
  if (std::max(window->failures, server->failures) >= kFewFailures) {
    ReportFailure(*server, error.status);
  }
  window->retry_at = now_ + WindowBackoff(window->turns);
  GiveUpOn(*window, stream);
}

void FetchScheduler::CountFailure(ServerEntry& server, WindowEntry& window) {
  ++server.failures;
  if (window.failures++ == 0) {
    window.turns = 0;
    window.failing_since = now_;
  }
  window.turns += AskAnother(server, window);
}

// The window comes back to a server that was late with it, or could not give it, only where there
// is no other.
void FetchScheduler::Avoid(WindowEntry& window, const ServerEntry& server) {
  auto& avoid = window.avoid;
  if (std::find(avoid.begin(), avoid.end(), server.index) == avoid.end()) {
    avoid.push_back(server.index);
  }
}

// Whether all have had a turn, so that it begins anew.
bool FetchScheduler::AskAnother(const ServerEntry& server, WindowEntry& window) {
  Avoid(window, server);
  const bool all = NoOtherCanBeAsked(server, window);
  if (all) window.avoid.assign(1, server.index);
  return all;
}

// That windows are asked for again and again.
void FetchScheduler::ReportFailure(const ServerEntry& server, const absl::Status& status) {
  if (now_ < report_failure_at_) return;
  report_failure_at_ = now_ + kFailureReports;
  actions_.Report(absl::StrCat(server.address, ": ", status.message(), ": still asked again"));
}

// All were asked. A limit of each that stands after a second or so will not pass.
bool FetchScheduler::FailedForGood(const ServerEntry& server, const WindowEntry& window,
                                   absl::StatusCode code) const {
  if (window.turns == 0) return false;
  const bool limit = code == absl::StatusCode::kResourceExhausted && !AnotherMayCome(server);
  return now_ >= window.failing_since + (limit ? kMomentary : options_.server_timeout);
}

// The server could not give it: what it was asked for is wanted again.
void FetchScheduler::GiveUpOn(WindowEntry& window, StreamId stream) {
  if (window.opened_on == stream) {
    TakeAway(window);
  } else {
    CancelOn(servers_[stream.server], window);
  }
  Requeue(window);
}

// A server never replaces by itself, and none is believed alone, at however many addresses: another
// one is asked, or the only one a second time.
void FetchScheduler::OnDamage(ServerEntry& server, WindowEntry& window, const StreamError& error) {
  const Damage& damage = *error.damage;
  if (AwaitsSecondOpinion(server, window, damage)) {
    window.retry_at = now_ + kSecondOpinionRetry;
    return GiveUpOn(window, servers_.stream(server.index));
  }
  if (++window.damage_reports > kMaxDamageReports) {
    return Fail(Annotate(error.status, absl::StrCat(server.address, ", after ", kMaxDamageReports,
                                                    " reports that do not agree")));
  }
  const StreamId stream = servers_.stream(server.index);
  if (IsAgreed(damage)) return GiveUpOn(window, stream);  // It was opened before that was known.
  const DamageDoubt* known = nullptr;
  for (const DamageDoubt& doubt : window.doubts) {
    if (!SameRecord(doubt.damage, damage)) continue;
    // It was to be avoided: no other could be asked.
    if (!servers_.AreOne(doubt.server, server.index) || NoOtherCanBeAsked(server, window)) {
      Agree(DamageDoubt(doubt), server, window);
      return ended_ ? void() : GiveUpOn(window, stream);
    }
    known = &doubt;
  }
  if (known == nullptr) window.doubts.push_back({damage, server.index, error.status, now_});
  AskAnother(server, window);
  GiveUpOn(window, stream);
}

// Which chunk it is depends on the epoch's order and on what is damaged, not on which server said
// so first: so all ranks come to the same one. A server's word about a window that was opened
// elsewhere since may be about a spare that it no longer has.
void FetchScheduler::TakeNextSpare(WindowEntry& window, StreamId stream,
                                   const absl::Status& status) {
  if (!(window.opened_on == stream)) return GiveUpOn(window, stream);
  const std::string name = absl::StrCat("window ", window.id.index, " of lane ", window.id.lane,
                                        " in epoch ", window.id.epoch);
  ++window.spares;
  const std::optional<uint32_t> spare = window.spare();
  if (!spare) {
    return Fail(absl::DataLossError(
        absl::StrCat(name, " has no good record, nor has any other chunk of the epoch (",
                     servers_[stream.server].address, ": ", status.message(),
                     "). Restore the shards, or index again with --exclude-corrupt")));
  }
  actions_.Report(absl::StrCat(name, " has no good record: the first good one of ",
                               actions_.NameChunks(std::span(&*spare, 1)), " stands for all"));
  GiveUpOn(window, stream);
}

// The window would be asked of this one again, though it is to be avoided.
bool FetchScheduler::NoOtherCanBeAsked(const ServerEntry& server, const WindowEntry& window) const {
  const std::optional<uint32_t> next = ServerOf(window);
  return next && servers_.AreOne(*next, server.index);
}

// It said so before and is asked again only because the others are on their way.
bool FetchScheduler::AwaitsSecondOpinion(const ServerEntry& server, const WindowEntry& window,
                                         const Damage& damage) const {
  const auto said = [&](const DamageDoubt& doubt) {
    return SameRecord(doubt.damage, damage) && servers_.AreOne(doubt.server, server.index) &&
           now_ < doubt.since + kSecondOpinionWait;
  };
  return std::any_of(window.doubts.begin(), window.doubts.end(), said) &&
         NoOtherCanBeAsked(server, window) && AnotherMayCome(server);
}

// Up, or in time, again.
bool FetchScheduler::AnotherMayCome(const ServerEntry& server) const {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& other = servers_[i];
    const bool coming = other.state == ServerState::kConnecting ||
                        other.state == ServerState::kBackoff ||
                        (other.state == ServerState::kUp && other.slow);
    if (!servers_.AreOne(i, server.index) && coming && !other.removed) return true;
  }
  return false;
}

void FetchScheduler::Agree(const DamageDoubt& doubt, const ServerEntry& second,
                           WindowEntry& window) {
  const std::string& first = servers_[doubt.server].address;
  const std::string agree = servers_.AreOne(doubt.server, second.index)
                                ? absl::StrCat(first, " says so twice, and no other could be asked")
                                : absl::StrCat(first, " and ", second.address, " agree");
  if (options_.on_error == OnError::kFail) {
    return Fail(absl::DataLossError(absl::StrCat(
        NameOf(doubt.damage), " is damaged since it was indexed (", agree, "): ",
        doubt.status.message(), ". Restore the shard; or index again with --exclude-corrupt; or ",
        "go on with --on-error replace, which takes another record instead")));
  }
  actions_.Report(
      absl::StrCat("replaced ", NameOf(doubt.damage), " (", agree, "): ", doubt.status.message()));
  agreed_.push_back(doubt.damage);
  window.doubts.clear();
  window.avoid.clear();
  window.damage_reports = 0;
}

std::string FetchScheduler::NameOf(const Damage& damage) const {
  return options_.damage_name != nullptr ? options_.damage_name(damage) : DamageName(damage);
}

bool FetchScheduler::IsAgreed(const Damage& damage) const {
  return std::any_of(agreed_.begin(), agreed_.end(),
                     [&](const Damage& other) { return SameRecord(other, damage); });
}

// All its rows have come, so whoever gave the last ones did not share the doubts.
void FetchScheduler::ReportDoubts(const WindowEntry& window) {
  for (const DamageDoubt& doubt : window.doubts) {
    actions_.Report(absl::StrCat(
        servers_[doubt.server].address, " called ", NameOf(doubt.damage), " damaged, but ",
        window.opened_on ? servers_[window.opened_on->server].address : "another server",
        " served it: check that server's disk, memory and mount (", doubt.status.message(), ")"));
  }
}

}  // namespace penstock
