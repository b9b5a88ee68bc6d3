#include "client/fetch/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

// Without shuffling there is one lane; its windows take turns over this many places.
constexpr uint32_t kUnshuffledPlaces = 64;

// Of the windows opened.
constexpr double kExtraLoads = 0.05;
constexpr double kExtraLoadsAtOnce = 8;  // And more for each lane in use.

uint64_t CountSteps(const Steps& steps, uint64_t max_steps) {
  return max_steps == 0 ? steps.num_steps() : std::min(steps.num_steps(), max_steps);
}

// A wake-up this much later than asked for means that this process stood still, not its servers.
constexpr absl::Duration kStoodStill = absl::Milliseconds(100);

}  // namespace

FetchScheduler::FetchScheduler(const Plan& plan, const Steps& steps, SchedulerOptions options,
                               SchedulerActions& actions)
    : plan_(plan),
      steps_(steps),
      options_(std::move(options)),
      num_steps_(CountSteps(steps, options_.max_steps)),
      fetch_rows_(static_cast<uint32_t>(
          std::clamp<uint64_t>(options_.fetch_bytes / options_.row_bytes, 1, 1u << 20))),
      actions_(actions),
      servers_(options_.servers, options_.seed),
      placement_(plan.shuffle() ? plan.lanes() : kUnshuffledPlaces, plan.fingerprint()),
      extra_loads_(kExtraLoads, kExtraLoadsAtOnce),
      lane_in_use_(placement_.lanes()),
      lanes_(plan.lanes()),
      slots_(options_.num_slots),
      slot_of_step_(options_.num_slots) {
  for (uint32_t slot = options_.num_slots; slot-- > 0;) free_slots_.push_back(slot);
  for (uint32_t i = 0; i < servers_.size(); ++i) Arm(servers_[i], absl::UnixEpoch());
}

// Its clock stands while the process does, so that no time-out runs meanwhile.
void FetchScheduler::SetNow(absl::Time now) {
  if (now > expected_by_ + kStoodStill && now > NextAdvance() + kStoodStill) {
    const absl::Time last = now_ + stood_still_;  // Nor does it go back.
    stood_still_ += now - std::max({expected_by_, NextAdvance(), last});
    expected_by_ = now;
    resumed_at_ = now - stood_still_;
  }
  now_ = now - stood_still_;
}

absl::Time FetchScheduler::Advance(absl::Time now) {
  SetNow(now);
  if (num_steps_ == 0 && !ended_) {
    ended_ = true;
    actions_.Finish();
  }
  if (!ended_) FireTimers();
  if (!ended_) CheckAlone();
  if (!ended_) Place();
  if (!ended_) Walk();
  if (!ended_) Pump();
  if (!ended_) CloseDrained();
  if (ended_) CloseAll();
  return expected_by_ = NextAdvance();
}

void FetchScheduler::AskForMore(absl::Time now) {
  SetNow(now);
  if (!ended_) Pump();
}

void FetchScheduler::OnHello(absl::Time now, StreamId stream, const ServerInfo& info) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return;
  server->heard_at = now_;
  const bool returns = server->known && server->info.instance == info.instance;
  if (IsAccusing(*server)) {
    const bool lives = returns && info.instance != 0;
    lives ? Withdraw() : Confirm();
    if (ended_) return;
  }
  server->newcomer = placed_once_ && !returns;
  if (!servers_.AcceptHello(*server, info)) {
    CloseStreamOf(*server);
    Refuse(*server);
    return NoteAway(*server);
  }
  server->up_at = now_;
  if (server->slow) Arm(*server, now_);
  if (!settle_by_) settle_by_ = now_ + absl::Milliseconds(300);
  if (!placed_once_) return PlaceBy(servers_.AllSettled() ? now_ : *settle_by_);
  // Several often join together.
  PlaceBy(lane_server_.empty() ? now_ : now_ + absl::Milliseconds(100));
}

void FetchScheduler::OnWindowReady(absl::Time now, StreamId stream, uint64_t number) {
  SetNow(now);
  if (ServerEntry* server = servers_.Find(stream)) server->heard_at = now_;
  WindowEntry* window = windows_.Find(number);
  if (window == nullptr || !(window->opened_on == stream) || window->ready()) return;
  window->ready_at = servers_[stream.server].loaded_at = now_;
  window->load_breaks = 0;
  loads_.Add(stream.server, window->rows, now_ - window->opened_at);
  if (window->requests > 0) Arm(servers_[stream.server], now_ + AnswerLimit(1));
}

void FetchScheduler::OnCredit(absl::Time now, StreamId stream, uint64_t bytes) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr) return;
  server->heard_at = now_;
  const bool again = std::exchange(server->credited, true) && bytes == server->credit_bytes;
  if (again && !ended_) NoteStarved(*server);
  server->credit_bytes = bytes;
  MarkForPump(*server);
}

void FetchScheduler::OnDraining(absl::Time now, StreamId stream, absl::Duration grace) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || server->state != ServerState::kUp || ended_) return;
  server->heard_at = now_;
  Drain(*server);
  if (grace <= absl::ZeroDuration()) return;
  server->drain_by = now_ + grace;
  Arm(*server, server->drain_by);
}

void FetchScheduler::OnBroken(absl::Time now, StreamId stream, absl::Status status) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server != nullptr && !ended_) Lose(*server, std::move(status));
}

std::span<const RowCopy> FetchScheduler::OnPart(absl::Time now, StreamId stream, uint64_t number,
                                                uint32_t first_row, uint32_t rows) {
  SetNow(now);
  copies_.clear();
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return copies_;
  server->heard_at = now_;
  RequestEntry* request = requests_.Find(number);
  if (request == nullptr || !(request->stream == stream)) return copies_;
  const bool within = first_row < request->rows && rows <= request->rows - first_row;
  if (within && rows > 0 && request->received.Contains(first_row, rows)) {
    return copies_;  // An answer that came twice.
  }
  if (!within || rows == 0 || request->received.Overlaps(first_row, rows)) {
    Lose(*server, absl::FailedPreconditionError(absl::StrCat(
                      "answered rows [", first_row, ", ", uint64_t{first_row} + rows,
                      ") of a request for ", request->rows, " rows, or some of them twice")));
    return copies_;
  }
  servers_.MarkProductive(*server);
  NoteBack(*server);
  request->received.Add(first_row, rows);
  request->active_at = now_;
  for (const Range& range : request->RangesFrom(first_row)) {
    if (range.at >= first_row + rows) break;
    const uint32_t begin = std::max(range.at, first_row);
    const uint32_t end = std::min(range.at + range.rows, first_row + rows);
    copies_.push_back(
        {begin - first_row, end - begin, range.slot, range.slot_row + begin - range.at});
  }
  request->window->failures = 0;
  request->rows_missing -= rows;
  if (request->rows_missing == 0) {
    CountAnswer(*request);
    const bool probe = server->probe == request;
    EndRequest(*request);
    if (probe || IsForgiven(*server)) Trust(*server);
  }
  return copies_;
}

void FetchScheduler::OnPartCopied(std::span<const RowCopy> copies) {
  for (const RowCopy& copy : copies) slots_[copy.slot].rows_missing -= copy.rows;
  if (!ended_) DeliverReady();
}

void FetchScheduler::OnServersChanged(absl::Time now, std::span<const std::string> addresses,
                                      bool all_known) {
  SetNow(now);
  if (ended_) return;
  set_changes_ = true;
  all_known_ = all_known;
  std::vector<bool> kept(servers_.size());
  for (const std::string& address : addresses) {
    ServerEntry& server = servers_[servers_.Add(address)];
    if (server.index < kept.size()) kept[server.index] = true;
    Arm(server, now_);
  }
  for (uint32_t i = 0; i < kept.size(); ++i) {
    ServerEntry& server = servers_[i];
    if (kept[i] || server.removed) continue;
    server.removed = true;
    if (server.state == ServerState::kUp) Drain(server);
    if (server.state == ServerState::kDraining) continue;
    if (server.has_stream()) CloseStreamOf(server);
    Remove(server);
    PlaceBy(now_);
  }
}

void FetchScheduler::OnConsumerWaiting(absl::Time now, uint64_t step) {
  SetNow(now);
  if (step >= waited_for_ && step >= next_delivery_) waited_for_ = step + 1;
}

void FetchScheduler::OnSlotReleased(uint32_t slot) {
  free_slots_.push_back(slot);
  ++num_released_;
}

}  // namespace penstock
