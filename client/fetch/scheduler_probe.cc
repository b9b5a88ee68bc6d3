// Servers that were late: they get no new windows until they have answered a probe in time. A probe
// is a request like any other for rows that another server is asked for too, so that nobody waits
// for it; what comes is dropped.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/fetch/scheduler.h"

namespace penstock {
namespace {

constexpr absl::Duration kFirstPenalty = absl::Milliseconds(500);
constexpr absl::Duration kMaxPenalty = absl::Seconds(16);
constexpr absl::Duration kProbeLater = absl::Milliseconds(50);
constexpr uint32_t kForgiven = 16;  // Answers in time.

}  // namespace

void FetchScheduler::MarkSlow(ServerEntry& server) {
  if (server.slow || server.state != ServerState::kUp) return;
  if (server.in_time >= kForgiven) server.penalty = absl::ZeroDuration();
  server.slow = true;
  Penalise(server);
  PlaceBy(now_);
  actions_.Report(
      absl::StrCat(server.address, " is late (deadline ",
                   absl::FormatDuration(absl::Trunc(AnswerLimit(1), absl::Microseconds(1))),
                   "): it gets no new windows; in ", absl::FormatDuration(server.penalty),
                   " it is tried again"));
}

void FetchScheduler::Penalise(ServerEntry& server) {
  server.in_time = 0;
  server.penalty = std::clamp(2 * server.penalty, kFirstPenalty, kMaxPenalty);
  server.probe_at = now_ + server.penalty;
  Arm(server, server.probe_at);
}

// Probes it when it is time; when to look again.
absl::Time FetchScheduler::CheckSlow(ServerEntry& server) {
  if (!server.slow) return absl::InfiniteFuture();
  if (server.probe != nullptr) {
    const absl::Time due = ProbeDueBy(*server.probe);
    if (now_ < due) return due;
    if (now_ >= server.heard_at + options_.silence_timeout) return due;  // It is lost.
    FailProbe(server);
  }
  if (now_ < server.probe_at) return server.probe_at;
  if (server.state != ServerState::kUp) return absl::InfiniteFuture();
  if (server.outstanding_requests > 0 || server.isolated) return now_ + kProbeLater;
  const WindowEntry* like = WindowToProbe(server);
  if (like == nullptr) return now_ + kProbeLater;
  Probe(server, *like);
  return ProbeDueBy(*server.probe);
}

// Sooner than others, so that it is not late again as soon as it has to do.
absl::Time FetchScheduler::ProbeDueBy(const RequestEntry& probe) const {
  if (!probe.window->ready()) return DueBy(probe);
  return std::max(probe.sent_at, probe.window->ready_at) + AnswerLimit(probe.rows) / 2;
}

// One of its own lanes', if there is one: what it loads for that may serve it later.
const WindowEntry* FetchScheduler::WindowToProbe(const ServerEntry& server) {
  if (lane_server_.empty()) return nullptr;
  const WindowEntry* chosen = nullptr;
  bool own = false;
  windows_.ForEach([&](const WindowEntry& window) {
    if (window.suspect) return;
    const bool its = placed_servers_[placement_.First(PlaceOf(window))] == server.index;
    if (chosen != nullptr && std::pair(its, window.start) <= std::pair(own, chosen->start)) return;
    chosen = &window;
    own = its;
  });
  return chosen;
}

void FetchScheduler::Probe(ServerEntry& server, const WindowEntry& like) {
  WindowEntry& window = windows_.New();
  window.id = like.id;
  window.order = like.order;
  window.rows = like.rows;
  window.start = like.start;
  window.spares = like.spares;
  window.walked_past = window.counted = true;
  OpenOn(server, window);
  RequestEntry& request = NewRequest(window, std::min(fetch_rows_, window.rows));
  server.probe = &request;
  Link(server, request);
  actions_.Fetch(request.stream, {request.number, window.number, 0, request.rows, request.rows, 1,
                                  NeededAt(window)});
}

// Where extra loads are used up it keeps its windows, and is never free for a probe.
bool FetchScheduler::IsForgiven(const ServerEntry& server) const {
  return server.slow && server.probe == nullptr && server.in_time >= kForgiven;
}

void FetchScheduler::Trust(ServerEntry& server) {
  server.slow = false;
  PlaceBy(now_);
  actions_.Report(absl::StrCat(server.address, " answers in time again"));
}

void FetchScheduler::FailProbe(ServerEntry& server) {
  CancelProbe(server);
  Penalise(server);
}

void FetchScheduler::CancelProbe(ServerEntry& server) {
  if (server.probe == nullptr) return;
  actions_.Cancel(server.probe->stream, server.probe->number);
  EndRequest(*server.probe);
}

// Its stream is closed.
void FetchScheduler::DropProbe(ServerEntry& server) {
  if (server.probe == nullptr) return;
  server.probe->window->opened_on.reset();
  EndRequest(*server.probe);
  server.probe_at = now_;
}

}  // namespace penstock
