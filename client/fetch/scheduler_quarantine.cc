// Queries of death: a window that may kill servers is asked for alone, so that it cannot kill the
// fleet, and so that the next death proves it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/fetch/scheduler.h"

namespace penstock {
namespace {

// Streams that broke while rows were claimed, or while the window was being loaded.
constexpr uint32_t kSuspectAfter = 3;

// Streams also break for other reasons: the longest time that one is remembered, and the most
// deaths of servers that were asked for a window alone that it takes to blame the window.
constexpr absl::Duration kLately = absl::Minutes(1);
constexpr size_t kMaxProofs = 10;

// Breaks, one after the other, of servers that lived and were asked for nothing else.
constexpr uint32_t kMaxWithdrawn = 10;
// Most servers that restart are back before.
constexpr absl::Duration kAwayForGood = absl::Seconds(5);

// Between two lines about suspects.
constexpr absl::Duration kTellSuspectsAfter = absl::Seconds(10);

}  // namespace

bool FetchScheduler::IsStillSuspect(const WindowEntry& window) const {
  if (window.load_breaks >= kSuspectAfter) return true;
  for (const Range& range : window.wanted.span()) {
    if (range.breaks >= kSuspectAfter) return true;
  }
  return false;
}

void FetchScheduler::CountBreak() {
  while (!breaks_.empty() && breaks_.front() < now_ - kLately) breaks_.pop_front();
  breaks_.push_back(now_);
}

// Called when a server that was asked for this window alone has died. Once may be chance, as where
// servers are restarted one after the other; twice is proof where streams break of nothing else,
// and each that did so lately takes one more.
bool FetchScheduler::ProvesDeadly(WindowEntry& window) {
  const auto lately = std::lower_bound(breaks_.begin(), breaks_.end(), now_ - kLately);
  const auto breaks = static_cast<size_t>(breaks_.end() - lately);
  const size_t elsewhere = breaks - std::min<size_t>(breaks, window.breaks);
  return ++window.breaks_alone > std::min(elsewhere + 1, kMaxProofs - 1);
}

bool FetchScheduler::LoadsSuspect(const ServerEntry& server) const {
  return quarantined_->opened_on == servers_.stream(server.index) && !quarantined_->ready();
}

// Where servers break for other reasons there may be hundreds, one after the other.
void FetchScheduler::NoteSuspect(const WindowEntry& window) {
  if (now_ < tell_suspects_at_) return;
  tell_suspects_at_ = now_ + kTellSuspectsAfter;
  actions_.Report(
      absl::StrCat("streams broke again and again while window ", window.number,
                   " was in flight: it is asked for alone, and so are others while that "
                   "goes on"));
}

// One suspect after the other, before anything else is opened: what a server loads when it is
// emptied for the next one is taken away, and if that is what kills it nobody would know.
void FetchScheduler::PumpSuspects() {
  if (accusation_) return;
  while (quarantined_ != nullptr || !suspects_.empty()) {
    if (quarantined_ == nullptr) {
      quarantined_ = &suspects_.front();
      NoteSuspect(*quarantined_);
    }
    PumpSuspect(*quarantined_);
    if (quarantined_ != nullptr) return;  // It waits for something.
  }
}

// Moves it on: a server is emptied for it, it is opened there, and its rows are asked for range by
// range until none of them is suspect.
void FetchScheduler::PumpSuspect(WindowEntry& window) {
  if (window.retry_at > now_) return;
  const std::optional<uint32_t> index =
      window.opened_on ? window.opened_on->server : ServerOf(window);
  if (!index || servers_[*index].state != ServerState::kUp) return;
  ServerEntry& server = servers_[*index];
  if (quarantine_ != &server) {
    if (quarantine_ != nullptr) LetGo(*quarantine_);
    quarantine_ = &server;
    Isolate(server);
  }
  if (server.outstanding_requests > 0) return;
  if (!window.opened_on) {
    OpenOn(server, window);
    Arm(server, now_ + options_.silence_timeout);
  }
  if (!window.ready()) return;
  if (!IsStillSuspect(window)) return EndQuarantine();
  FetchFrom(server, window, window.wanted.front().rows);
}

// Nothing is opened there or asked for; what is being loaded is taken away, for it might kill too.
void FetchScheduler::Isolate(ServerEntry& server) {
  server.isolated = true;
  CancelProbe(server);
  const StreamId stream = servers_.stream(server.index);
  windows_.ForEach([&](WindowEntry& window) {
    if (&window == quarantined_ || !(window.opened_on == stream) || window.ready()) return;
    TakeAway(window);
    Requeue(window);
  });
}

void FetchScheduler::LetGo(ServerEntry& server) {
  server.isolated = false;
  MarkForPump(server);
}

// Whether its server is to blame, or it, that it was asked for alone. One that says nothing may be
// bad for any other reason: the next one is asked.
void FetchScheduler::LoseSuspect(const ServerEntry& server, const absl::Status& status,
                                 bool silent) {
  const bool alone = quarantine_ == &server &&
                     quarantined_->opened_on == servers_.stream(server.index) &&
                     quarantined_->requests == server.outstanding_requests;
  if (!alone) return;
  if (silent) {
    Avoid(*quarantined_, server);
  } else if (quarantined_->requests > 0 || !quarantined_->ready()) {
    Accuse(server, status);
  }
}

// The server was asked for nothing but the suspect. It has died if it comes back as another
// process, or stays away: where a network breaks all streams at one moment, none has.
void FetchScheduler::Accuse(const ServerEntry& server, const absl::Status& status) {
  accusation_ = {server.index, quarantined_, now_, DeathOf(server, status)};
}

bool FetchScheduler::IsAccusing(const ServerEntry& server) const {
  return accusation_ && accusation_->server == server.index;
}

// It is still away. While all are, it may be the network.
void FetchScheduler::HearNothing() {
  if (now_ >= accusation_->since + kAwayForGood && servers_.AnyUp()) Confirm();
}

void FetchScheduler::Confirm() {
  if (ProvesDeadly(*accusation_->window)) return Fail(accusation_->death);
  accusation_.reset();
}

// Streams may break of it though their servers live: then it would be asked for without end.
void FetchScheduler::Withdraw() {
  if (++accusation_->window->withdrawn > kMaxWithdrawn) return Fail(accusation_->death);
  accusation_.reset();
}

// It has proved harmless, or its server is gone without it.
void FetchScheduler::EndQuarantine() {
  if (quarantine_ != nullptr) LetGo(*std::exchange(quarantine_, nullptr));
  WindowEntry& window = *std::exchange(quarantined_, nullptr);
  window.suspect = IsStillSuspect(window);
  if (!window.done()) Requeue(window);
}

// Of a server that was asked for nothing but the suspect.
absl::Status FetchScheduler::DeathOf(const ServerEntry& server, const absl::Status& status) const {
  const WindowEntry& window = *quarantined_;
  uint32_t first_row = 0;
  uint32_t rows = window.rows;
  if (server.first_request != nullptr) {
    first_row = server.first_request->ranges.front().first_row;
    rows = server.first_request->rows;
  }
  std::vector<uint32_t> chunks;
  for (const uint32_t chunk : window.order->WindowChunks(window.id)) chunks.push_back(chunk);
  if (const std::optional<uint32_t> spare = window.spare()) chunks.push_back(*spare);
  return absl::AbortedError(absl::StrCat(
      "window ", window.id.index, " of lane ", window.id.lane, " in epoch ", window.id.epoch,
      " makes servers break: it was in flight when ", window.breaks, " streams broke, and then ",
      server.address, " was asked for rows [", first_row, ", ", first_row + rows,
      ") of it and nothing else, and broke too (", status.message(),
      "). Its chunks: ", actions_.NameChunks(chunks),
      ". See the servers' logs; penstock index --verify finds damaged records, --exclude-corrupt ",
      "leaves them out"));
}

}  // namespace penstock
