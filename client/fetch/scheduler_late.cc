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

}  // namespace

// Four times what is usual among servers: one that has become slow is not measured by itself.
absl::Duration FetchScheduler::AnswerLimit(uint32_t rows) const {
  if (answers_.count() < 16) return kFirstAnswerLimit;
  return std::max(kMinAnswerLimit, 4 * answers_.Usual(rows));
}

absl::Duration FetchScheduler::LoadLimit(uint32_t rows) const {
  return loads_.count() < 8 ? kFirstLoadLimit : std::max(kMinLoadLimit, 4 * loads_.Usual(rows));
}

absl::Time FetchScheduler::DueBy(const RequestEntry& request) const {
  return DueBy(request, AnswerLimit(request.rows));
}

// A batch that the consumer waits for is worth a second load sooner.
absl::Time FetchScheduler::DueBy(const RequestEntry& request, absl::Duration limit) const {
  const WindowEntry& window = *request.window;
  if (window.opened_on == request.stream && !window.ready()) {
    return SinceWhen(request) + LoadLimit(window.rows);
  }
  if (StepOf(request) < waited_for_) limit = std::max(kMinAnswerLimit, limit / 2);
  return SinceWhen(request) + limit;
}

// Since when its server could have answered, or gone on answering.
absl::Time FetchScheduler::SinceWhen(const RequestEntry& request) const {
  const WindowEntry& window = *request.window;
  const absl::Time since = std::max(request.active_at, resumed_at_);
  const bool ready = window.opened_on == request.stream && window.ready();
  return ready ? std::max(since, window.ready_at) : since;
}

// The first that needs it.
uint64_t FetchScheduler::StepOf(const RequestEntry& request) const {
  return request.ranges.empty() ? next_step_ : request.ranges.front().step;
}

// When it is late, or may be by then: its batch may be waited for from any moment on. Requests for
// later steps may wait, for a server answers first what is needed first.
absl::Time FetchScheduler::LateAt(const RequestEntry& request) const {
  const absl::Time later = now_ + AnswerLimit(request.rows) / 4;
  if (StepOf(request) < Soon() || LeavesSoonerRowsUnasked(servers_[request.stream.server])) {
    const absl::Time due = DueBy(request);
    return due <= now_ || StepOf(request) < waited_for_ ? due : std::min(due, later);
  }
  return later;
}

// It says nothing, and what it was asked leaves no room for rows that are needed soon.
bool FetchScheduler::LeavesSoonerRowsUnasked(const ServerEntry& server) const {
  return !server.eligible.empty() && server.eligible.front().wanted.front().step < Soon() &&
         IsSilent(server);
}

// Other ranks may be behind this one, and all servers busy with what those need first: then it is
// usual to wait.
bool FetchScheduler::OthersKeepItWaitingToo(const RequestEntry& request) {
  const ServerEntry& server = servers_[request.stream.server];
  CollectAges(server);
  if (now_ >= DueBy(request, 4 * answers_.Usual(request.rows, ages_))) return false;
  if (!IsSilent(server)) return true;
  // Most of them may have stopped at one moment: then those that still answer are the measure, with
  // more patience, for among many servers some are always quick.
  LeaveOutSilent();
  const absl::Duration usual = answers_.Usual(request.rows, ages_);
  return usual == absl::ZeroDuration() || now_ < DueBy(request, 16 * usual);
}

// What each server is known to need at least. Where none but `late` was ever asked, as in a plan of
// few lanes, one that is up and has nothing to do would keep nobody waiting.
void FetchScheduler::CollectAges(const ServerEntry& late) {
  ages_.assign(servers_.size(), absl::ZeroDuration());
  bool compared = false;
  std::optional<uint32_t> idle;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    const RequestEntry* oldest = server.first_request;
    if (oldest != nullptr) ages_[i] = now_ - SinceWhen(*oldest);
    compared |= &server != &late && (oldest != nullptr || answers_.Knows(i));
    if (oldest == nullptr && server.state == ServerState::kUp && !server.slow) idle = i;
  }
  if (!compared && idle) ages_[*idle] = absl::Nanoseconds(1);
}

// What is left are servers that have answered and owe nothing, or are answering.
void FetchScheduler::LeaveOutSilent() {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    const bool usable = server.state == ServerState::kUp && !server.slow && answers_.Knows(i);
    const bool answers = server.first_request == nullptr || !IsSilent(server);
    if (!usable || !answers) ages_[i] = AnswerTimes::kLeftOut;
  }
}

// Finds requests that missed their deadline; when to look again.
absl::Time FetchScheduler::CheckLate(ServerEntry& server) {
  absl::Time next = absl::InfiniteFuture();
  late_windows_.clear();
  for (RequestEntry* r = server.first_request; r != nullptr; r = r->later) {
    if (r == server.probe) continue;
    const absl::Time late_at = LateAt(*r);
    if (now_ < late_at) {
      next = std::min(next, late_at);
      continue;
    }
    if (late_windows_.empty() && OthersKeepItWaitingToo(*r)) return now_ + kMinAnswerLimit;
    server.counted.late_requests += !std::exchange(r->late, true);
    const bool known =
        std::find(late_windows_.begin(), late_windows_.end(), r->window) != late_windows_.end();
    if (!known && !r->window->suspect) late_windows_.push_back(r->window);
  }
  if (late_windows_.empty()) return next;
  if (MayBeSlow(server)) MarkSlow(server);
  TakeLateWindows(server);
  return std::min(next, now_ + kMinAnswerLimit);
}

void FetchScheduler::TakeLateWindows(ServerEntry& server) {
  Place();
  if (server.slow && IsSilent(server)) return TakeAll(server);
  std::sort(late_windows_.begin(), late_windows_.end(),
            [](WindowEntry* a, WindowEntry* b) { return a->start < b->start; });
  for (WindowEntry* window : late_windows_) {
    if (window->opened_on == servers_.stream(server.index)) {
      Avoid(*window, server);
      HandOver(*window, /*charge=*/true);
    } else {
      CancelOn(server, *window);  // It drains, and the window is open elsewhere.
    }
  }
}

bool FetchScheduler::IsSilent(const ServerEntry& server) const {
  const absl::Time since = std::max(server.heard_at, resumed_at_);
  return now_ >= since + std::max(kMinSilence, AnswerLimit(1));
}

// Slower than others, that is: where half of them are, the others will not do better, unless this
// one does nothing at all.
bool FetchScheduler::MayBeSlow(const ServerEntry& server) const {
  uint32_t slow = 1;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& other = servers_[i];
    slow += &other != &server && other.state == ServerState::kUp && other.slow;
  }
  return 2 * slow <= servers_.NumUp() || (IsSilent(server) && slow < servers_.NumUp());
}

// False: there is no other server for it, or, where that is charged, extra loads are used up but
// for `reserve`. Counted in any case.
bool FetchScheduler::HandOver(WindowEntry& window, bool charge, double reserve) {
  ServerEntry& from = servers_[window.opened_on->server];
  const std::optional<uint32_t> to = ServerOf(window);
  if (!to || *to == from.index) return false;
  if (charge && !extra_loads_.Take(reserve)) return false;
  TakeAway(window);
  ++from.counted.handed_over;
  ++servers_[*to].counted.extra_loads;
  Requeue(window);
  return true;
}

// A server that says nothing is as good as lost; but its stream stays, for it may only have been
// stopped.
void FetchScheduler::TakeAll(ServerEntry& server) {
  server.silent_from = server.heard_at;
  CancelProbe(server);
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

void FetchScheduler::CountAnswer(const RequestEntry& request) {
  ServerEntry& server = servers_[request.stream.server];
  const WindowEntry& window = *request.window;
  const bool here = window.opened_on == request.stream && window.ready();
  const absl::Duration took =
      now_ - (here ? std::max(request.sent_at, window.ready_at) : request.sent_at);
  answers_.Add(server.index, request.rows, took);
  server.in_time += took <= AnswerLimit(request.rows) / 2;
}

}  // namespace penstock
