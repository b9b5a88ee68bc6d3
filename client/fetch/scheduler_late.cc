// Late servers lose windows, not pieces: what a window still wants is asked of the next server.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/fetch/scheduler.h"

namespace penstock {
namespace {

constexpr absl::Duration kMinAnswerLimit = absl::Milliseconds(50);
constexpr absl::Duration kMinLoadLimit = absl::Milliseconds(500);
// Before enough was observed.
constexpr absl::Duration kFirstAnswerLimit = absl::Seconds(1);
constexpr absl::Duration kFirstLoadLimit = absl::Seconds(3);
constexpr absl::Duration kMinSilence = absl::Milliseconds(200);
constexpr absl::Duration kFirstPenalty = absl::Milliseconds(500);
constexpr absl::Duration kMaxPenalty = absl::Seconds(16);

}  // namespace

// Four times what 95 of 100 answers took lately, over all servers: one that has become slow must
// not be measured by itself.
absl::Duration FetchScheduler::AnswerLimit() const {
  return answers_.count() < 16 ? kFirstAnswerLimit : std::max(kMinAnswerLimit, 4 * answers_.p95());
}

absl::Duration FetchScheduler::LoadLimit() const {
  return loads_.count() < 8 ? kFirstLoadLimit : std::max(kMinLoadLimit, 4 * loads_.p95());
}

absl::Time FetchScheduler::DueBy(const RequestEntry& request) const {
  const WindowEntry& window = *request.window;
  const absl::Time since = std::max(request.active_at, resumed_at_);
  if (!(window.opened_on == request.stream)) return since + AnswerLimit();
  if (!window.ready()) return since + LoadLimit();
  return std::max(since, window.ready_at) + AnswerLimit();
}

// Finds requests that missed their deadline; when to look again.
absl::Time FetchScheduler::CheckLate(ServerEntry& server) {
  absl::Time next = absl::InfiniteFuture();
  late_windows_.clear();
  for (RequestEntry* r = server.first_request; r != nullptr; r = r->later) {
    const absl::Time due = DueBy(*r);
    if (now_ < due) {
      next = std::min(next, due);
      continue;
    }
    server.counted.late_requests += !std::exchange(r->late, true);
    const bool known =
        std::find(late_windows_.begin(), late_windows_.end(), r->window) != late_windows_.end();
    if (!known && !r->window->suspect) late_windows_.push_back(r->window);
  }
  if (late_windows_.empty()) return next;
  if (OthersAreFaster(server)) TakeLateWindows(server);
  return std::min(next, now_ + kMinAnswerLimit);
}

void FetchScheduler::TakeLateWindows(ServerEntry& server) {
  MarkSlow(server);
  Place();
  if (now_ >= std::max(server.heard_at, resumed_at_) + std::max(kMinSilence, AnswerLimit())) {
    return TakeAll(server);
  }
  std::sort(late_windows_.begin(), late_windows_.end(),
            [](WindowEntry* a, WindowEntry* b) { return a->start < b->start; });
  for (WindowEntry* window : late_windows_) {
    if (window->opened_on == servers_.stream(server.index)) {
      HandOver(*window, /*charge=*/true);
    } else {
      CancelOn(server, *window);  // It drains, and the window is open elsewhere.
    }
  }
}

bool FetchScheduler::OthersAreFaster(const ServerEntry& server) const {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& other = servers_[i];
    if (&other != &server && other.state == ServerState::kUp && !other.slow(now_)) return true;
  }
  return false;
}

// It gets no new windows for a while: those cost no extra load elsewhere.
void FetchScheduler::MarkSlow(ServerEntry& server) {
  if (server.slow(now_) || server.state != ServerState::kUp) return;
  if (now_ > server.slow_until + 4 * server.penalty) server.penalty = absl::ZeroDuration();
  server.penalty = std::clamp(2 * server.penalty, kFirstPenalty, kMaxPenalty);
  server.slow_until = now_ + server.penalty;
  server.penalised = true;
  Arm(server, server.slow_until);
  PlaceBy(now_);
  actions_.Report(absl::StrCat(
      server.address, " is late: it gets no new windows for ", absl::FormatDuration(server.penalty),
      " (deadline ", absl::FormatDuration(absl::Trunc(AnswerLimit(), absl::Microseconds(1))), ")"));
}

// False: its lane is still at its server, or extra loads are used up but for `reserve`.
bool FetchScheduler::HandOver(WindowEntry& window, bool charge, double reserve) {
  ServerEntry& from = servers_[window.opened_on->server];
  const std::optional<uint32_t> to = ServerOf(window);
  if (!to || *to == from.index) return false;
  if (charge && !extra_loads_.Take(reserve)) return false;
  TakeAway(window);
  ++from.counted.handed_over;
  servers_[*to].counted.extra_loads += charge;
  Requeue(window);
  return true;
}

// A server that says nothing is as good as lost; but its stream stays, for it may only have been
// stopped.
void FetchScheduler::TakeAll(ServerEntry& server) {
  server.silent_from = server.heard_at;
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    if (window.suspect) return;
    if (window.opened_on == stream) {
      HandOver(window, /*charge=*/false);
    } else if (window.requests > 0) {
      CancelOn(server, window);
    }
  });
}

// A server that is slow is no measure for the others, unless most are.
void FetchScheduler::CountAnswer(const RequestEntry& request) {
  const ServerEntry& server = servers_[request.stream.server];
  if (server.slow(now_) && OthersAreFaster(server)) return;
  const WindowEntry& window = *request.window;
  const bool here = window.opened_on == request.stream && window.ready();
  answers_.Add(now_ - (here ? std::max(request.sent_at, window.ready_at) : request.sent_at));
}

}  // namespace penstock
