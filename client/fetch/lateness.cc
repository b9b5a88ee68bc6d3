#include "client/fetch/lateness.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock {
namespace {

constexpr absl::Duration kMinAnswerLimit = absl::Milliseconds(50);
constexpr absl::Duration kMinLoadLimit = absl::Milliseconds(500);
// Limits that apply until enough answers were measured.
constexpr absl::Duration kFirstAnswerLimit = absl::Seconds(1);
constexpr absl::Duration kFirstLoadLimit = absl::Seconds(3);
constexpr absl::Duration kMinSilence = absl::Milliseconds(200);
constexpr absl::Duration kFirstPenalty = absl::Milliseconds(500);
constexpr absl::Duration kMaxPenalty = absl::Seconds(16);
// Number of answers in time after which a slow server is forgiven.
constexpr uint32_t kForgiven = 16;
// A server is late after as little as kMinAnswerLimit, because that is soon enough for the trainer.
// A healthy server on a busy machine is late now and then. It answers one of its first two probes,
// which come after 0.5 s and 1.5 s.
constexpr absl::Duration kTellSlowAfter = absl::Seconds(2);

}  // namespace

// Four times the usual time over all servers. So a server that has become slow is not measured
// against itself.
absl::Duration Lateness::AnswerLimit(uint64_t bytes) const {
  if (answers_.count() < 16) return kFirstAnswerLimit;
  return std::max(kMinAnswerLimit, 4 * answers_.Usual(bytes));
}

absl::Duration Lateness::LoadLimit(uint64_t bytes) const {
  return loads_.count() < 8 ? kFirstLoadLimit : std::max(kMinLoadLimit, 4 * loads_.Usual(bytes));
}

absl::Time Lateness::DueBy(const RequestEntry& request) const {
  return DueBy(request, AnswerLimit(request.record_bytes()));
}

// If the consumer waits for the batch, a second load is justified sooner.
absl::Time Lateness::DueBy(const RequestEntry& request, absl::Duration limit) const {
  const WindowEntry& window = *request.window;
  if (window.opened_on == request.stream && !window.ready()) {
    return SinceWhen(request) + LoadLimit(window.bytes);
  }
  if (StepOf(request) < slots_.waited_for()) limit = std::max(kMinAnswerLimit, limit / 2);
  return SinceWhen(request) + limit;
}

// The time since which the server could have answered, or could have gone on answering.
absl::Time Lateness::SinceWhen(const RequestEntry& request) const {
  const WindowEntry& window = *request.window;
  const absl::Time since = std::max(request.active_at, clock_.resumed_at());
  const bool ready = window.opened_on == request.stream && window.ready();
  return ready ? std::max(since, window.ready_at) : since;
}

// The first step that needs the request's rows.
uint64_t Lateness::StepOf(const RequestEntry& request) const {
  return request.ranges.empty() ? slots_.next_step() : request.ranges.front().step;
}

// Returns the time at which the request is late, or an earlier time at which to ask again: the
// consumer may begin to wait for the request's batch at any moment. A request for a later step is
// not late, because a server answers first what is needed first.
absl::Time Lateness::LateAt(const RequestEntry& request) const {
  const absl::Time later = clock_.now() + AnswerLimit(request.record_bytes()) / 4;
  if (StepOf(request) < slots_.Soon() || LeavesSoonerRowsUnasked(servers_[request.stream.server])) {
    const absl::Time due = DueBy(request);
    return due <= clock_.now() || StepOf(request) < slots_.waited_for() ? due
                                                                        : std::min(due, later);
  }
  return later;
}

// Whether the server is silent, and its open requests leave no room for rows that are needed soon.
bool Lateness::LeavesSoonerRowsUnasked(const ServerEntry& server) const {
  return !server.eligible.empty() && server.eligible.front().wanted.front().step < slots_.Soon() &&
         IsSilent(server);
}

// Other ranks may be behind this one, and all servers may be busy with what those need first. Then
// it is usual to wait.
bool Lateness::OthersKeepItWaitingToo(const RequestEntry& request) {
  const ServerEntry& server = servers_[request.stream.server];
  CollectAges(server);
  if (clock_.now() >= DueBy(request, 4 * answers_.Usual(request.record_bytes(), ages_)))
    return false;
  if (!IsSilent(server)) return true;
  // Most servers may have stopped at the same moment. Then the late server is compared with those
  // that still answer, and gets more time, because among many servers some are always quick.
  LeaveOutSilent();
  const absl::Duration usual = answers_.Usual(request.record_bytes(), ages_);
  return usual == absl::ZeroDuration() || clock_.now() < DueBy(request, 16 * usual);
}

// Computes how long each server is known to need at least. If no server but `late` was ever asked,
// as in a plan with few lanes, an idle server that is up counts as one that would answer at once.
void Lateness::CollectAges(const ServerEntry& late) {
  ages_.assign(servers_.size(), absl::ZeroDuration());
  bool compared = false;
  std::optional<uint32_t> idle;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    const RequestEntry* oldest = server.first_request;
    if (oldest != nullptr) ages_[i] = clock_.now() - SinceWhen(*oldest);
    compared |= &server != &late && (oldest != nullptr || answers_.Knows(i));
    if (oldest == nullptr && server.state == ServerState::kUp && !server.slow) idle = i;
  }
  if (!compared && idle) ages_[*idle] = absl::Nanoseconds(1);
}

// Keeps only the servers that have answered and owe nothing, or that are answering now.
void Lateness::LeaveOutSilent() {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    const bool usable = server.state == ServerState::kUp && !server.slow && answers_.Knows(i);
    const bool answers = server.first_request == nullptr || !IsSilent(server);
    if (!usable || !answers) ages_[i] = AnswerTimes::kLeftOut;
  }
}

absl::Time Lateness::FindLate(ServerEntry& server, std::vector<WindowEntry*>& late) {
  absl::Time next = absl::InfiniteFuture();
  late.clear();
  for (RequestEntry* r = server.first_request; r != nullptr; r = r->later) {
    if (r == server.probe) continue;
    const absl::Time late_at = LateAt(*r);
    if (clock_.now() < late_at) {
      next = std::min(next, late_at);
      continue;
    }
    if (late.empty() && OthersKeepItWaitingToo(*r)) return clock_.now() + kMinAnswerLimit;
    server.counted.late_requests += !std::exchange(r->late, true);
    const bool known = std::find(late.begin(), late.end(), r->window) != late.end();
    if (!known && !r->window->suspect) late.push_back(r->window);
  }
  return late.empty() ? next : std::min(next, clock_.now() + kMinAnswerLimit);
}

bool Lateness::IsSilent(const ServerEntry& server) const {
  const absl::Time since = std::max(server.heard_at, clock_.resumed_at());
  return clock_.now() >= since + std::max(kMinSilence, AnswerLimit(0));
}

// Whether the server is slower than others. If half of them are slow, the others will do no better,
// unless this one is silent.
bool Lateness::MayBeSlow(const ServerEntry& server) const {
  uint32_t slow = 1;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& other = servers_[i];
    slow += &other != &server && other.state == ServerState::kUp && other.slow;
  }
  return 2 * slow <= servers_.NumUp() || (IsSilent(server) && slow < servers_.NumUp());
}

void Lateness::CountAnswer(const RequestEntry& request) {
  ServerEntry& server = servers_[request.stream.server];
  const WindowEntry& window = *request.window;
  const bool here = window.opened_on == request.stream && window.ready();
  const absl::Duration took =
      clock_.now() - (here ? std::max(request.sent_at, window.ready_at) : request.sent_at);
  answers_.Add(server.index, request.record_bytes(), took);
  server.in_time += took <= AnswerLimit(request.record_bytes()) / 2;
}

void Lateness::Forget(uint32_t server) {
  answers_.Forget(server);
  loads_.Forget(server);
}

void Lateness::MarkSlow(ServerEntry& server) {
  if (server.in_time >= kForgiven) server.penalty = absl::ZeroDuration();
  server.slow = true;
  server.tell_slow_at = clock_.now() + kTellSlowAfter;
  Penalise(server);
}

void Lateness::MarkInTime(ServerEntry& server) {
  server.slow = false;
  server.tell_slow_at = absl::InfiniteFuture();
}

void Lateness::Penalise(ServerEntry& server) {
  server.in_time = 0;
  server.penalty = std::clamp(2 * server.penalty, kFirstPenalty, kMaxPenalty);
  server.probe_at = clock_.now() + server.penalty;
  servers_.Arm(server, server.probe_at);
}

// A probe must be answered sooner than other requests, so that the server is not late again as soon
// as it has work.
absl::Time Lateness::ProbeDueBy(const RequestEntry& probe) const {
  if (!probe.window->ready()) return DueBy(probe);
  return std::max(probe.sent_at, probe.window->ready_at) + AnswerLimit(probe.record_bytes()) / 2;
}

// If extra loads are used up, a slow server keeps its windows and is never free for a probe. So it
// is also forgiven once it has answered in time often enough.
bool Lateness::IsForgiven(const ServerEntry& server) const {
  return server.slow && server.probe == nullptr && server.in_time >= kForgiven;
}

}  // namespace penstock
