#include "client/fetch/fetch_controller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

uint64_t CountSteps(const Steps& steps, uint64_t max_steps) {
  return max_steps == 0 ? steps.num_steps() : std::min(steps.num_steps(), max_steps);
}

FetchLimits LimitsOf(const FetchOptions& options) {
  return {.rows = static_cast<uint32_t>(
              std::clamp<uint64_t>(options.fetch_bytes / options.row_bytes, 1, 1u << 20)),
          .row_bytes = options.row_bytes,
          .max_outstanding_bytes = options.max_outstanding_bytes,
          .max_open_windows = options.max_open_windows,
          .silence_timeout = options.silence_timeout};
}

}  // namespace

FetchController::FetchController(const Plan& plan, const Steps& steps, FetchOptions options,
                                 FetchActions& actions)
    : options_(std::move(options)),
      steps_(steps),
      actions_(actions),
      servers_(options_.servers, options_.seed),
      connections_(clock_, servers_, actions_, options_.fetch_bytes, options_.server_timeout),
      placement_(plan, servers_),
      slots_(options_.num_slots, CountSteps(steps, options_.max_steps)),
      lateness_(clock_, slots_, servers_),
      damage_(plan, servers_, placement_, actions_, options_.on_error, options_.fallible_rows,
              options_.damage_name, options_.find_damage),
      suspects_(clock_, servers_, actions_),
      fetcher_({clock_, slots_, servers_, placement_, lateness_, suspects_, damage_, actions_},
               LimitsOf(options_)),
      walker_(plan, steps_, CountSteps(steps, options_.max_steps), slots_, fetcher_, actions_) {
  for (uint32_t i = 0; i < servers_.size(); ++i) servers_.Arm(servers_[i], absl::UnixEpoch());
}

void FetchController::SetNow(absl::Time now) {
  clock_.Set(now, [this] { return NextCheck(); });
}

absl::Time FetchController::Advance(absl::Time now) {
  SetNow(now);
  EndIfDelivered();
  if (!ended_) FireTimers();
  if (!ended_) {
    EndIf(connections_.CheckAlone(
        suspects_.IsAccusing() ? absl::StrCat("; ", suspects_.death().message()) : ""));
  }
  if (!ended_) Place();
  if (!ended_) walker_.Walk();
  EndIfDelivered();
  if (!ended_) fetcher_.Pump();
  if (!ended_) connections_.CloseDrained([this](ServerEntry& server) { Remove(server); });
  if (ended_) connections_.CloseAll();
  return clock_.ExpectWake(NextCheck());
}

void FetchController::AskForMore(absl::Time now) {
  SetNow(now);
  if (!ended_) fetcher_.Pump();
}

absl::Time FetchController::NextAdvance() const { return clock_.ToOuter(NextCheck()); }

// Returns the time, on clock_, at which Advance() next has something to do.
absl::Time FetchController::NextCheck() const {
  if (ended_) return connections_.all_closed() ? absl::InfiniteFuture() : clock_.now();
  if (connections_.IsDue()) return clock_.now();
  return std::min(
      {placement_.place_at(), servers_.NextDue(), connections_.AloneUntil(), fetcher_.NextPump()});
}

void FetchController::Fail(absl::Status status) {
  ended_ = true;
  actions_.Fail(std::move(status));
}

void FetchController::EndIf(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}

void FetchController::EndIfDelivered() {
  if (ended_ || !slots_.AllDelivered()) return;
  ended_ = true;
  actions_.Finish();
}

void FetchController::OnHello(absl::Time now, StreamId stream, const ServerInfo& info) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return;
  server->heard_at = clock_.now();
  const bool returns = server->known && server->info.instance == info.instance;
  if (suspects_.IsAccusing(*server)) {
    const bool lives = returns && info.instance != 0;
    EndIf(lives ? suspects_.Withdraw() : suspects_.Confirm());
    if (ended_) return;
  }
  server->newcomer = placement_.placed_once() && !returns;
  if (!servers_.AcceptHello(*server, info)) {
    connections_.Close(*server);
    Refuse(*server, Refusal::kAccess);
    return connections_.NoteAway(*server);
  }
  server->up_at = clock_.now();
  if (server->slow) servers_.Arm(*server, clock_.now());
  connections_.NoteHello();
  placement_.PlaceAfterHello(clock_.now());
}

void FetchController::OnWindowReady(absl::Time now, StreamId stream, uint64_t number) {
  SetNow(now);
  if (ServerEntry* server = servers_.Find(stream)) server->heard_at = clock_.now();
  WindowEntry* window = fetcher_.FindWindow(number);
  if (window == nullptr || !(window->opened_on == stream) || window->ready()) return;
  ServerEntry& server = servers_[stream.server];
  server.loaded_at = clock_.now();
  lateness_.CountLoad(stream.server, window->bytes, clock_.now() - window->opened_at);
  window->NoteReady(clock_.now());
  if (window->requests > 0) servers_.Arm(server, clock_.now() + lateness_.AnswerLimit(0));
}

void FetchController::OnCredit(absl::Time now, StreamId stream, uint64_t bytes, bool working) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr) return;
  const bool again = std::exchange(server->credited, true) && bytes == server->credit_bytes;
  if (!again) server->heard_at = clock_.now();
  if (again && !ended_) connections_.NoteWaits(*server, working);
  server->credit_bytes = bytes;
  fetcher_.MarkForPump(*server);
}

void FetchController::OnDraining(absl::Time now, StreamId stream, absl::Duration grace) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || server->state != ServerState::kUp || ended_) return;
  server->heard_at = clock_.now();
  Drain(*server);
  if (grace <= absl::ZeroDuration()) return;
  server->drain_by = clock_.now() + grace;
  servers_.Arm(*server, server->drain_by);
}

void FetchController::OnBroken(absl::Time now, StreamId stream, absl::Status status) {
  SetNow(now);
  ServerEntry* server = servers_.Find(stream);
  if (server != nullptr && !ended_) Lose(*server, std::move(status));
}

std::span<const RowCopy> FetchController::OnPart(absl::Time now, StreamId stream, uint64_t number,
                                                 uint32_t first_row, uint32_t rows) {
  SetNow(now);
  copies_.clear();
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return copies_;
  server->heard_at = clock_.now();
  RequestEntry* request = fetcher_.FindRequest(number, stream);
  if (absl::Status asked = RequestBook::Check(*server, request, first_row, rows); !asked.ok()) {
    Lose(*server, std::move(asked));
    return copies_;
  }
  if (request == nullptr) return copies_;  // The request was cancelled.
  servers_.MarkProductive(*server);
  connections_.NoteBack(*server);
  RequestBook::Receive(clock_.now(), *request, first_row, rows, copies_);
  request->window->failures = 0;
  if (request->rows_missing == 0) {
    lateness_.CountAnswer(*request);
    const bool probe = server->probe == request;
    fetcher_.EndRequest(*request);
    if (probe || lateness_.IsForgiven(*server)) Trust(*server);
  }
  return copies_;
}

void FetchController::OnPartCopied(std::span<const RowCopy> copies) {
  for (const RowCopy& copy : copies) slots_.NoteCopied(copy);
  if (!ended_) slots_.DeliverReady(actions_);
  EndIfDelivered();
}

void FetchController::OnServersChanged(absl::Time now, std::span<const std::string> addresses,
                                       bool all_known) {
  SetNow(now);
  if (ended_) return;
  connections_.NoteSet(all_known);
  std::vector<bool> kept(servers_.size());
  for (const std::string& address : addresses) {
    ServerEntry& server = servers_[servers_.Add(address)];
    if (server.index < kept.size()) kept[server.index] = true;
    servers_.Arm(server, clock_.now());
  }
  for (uint32_t i = 0; i < kept.size(); ++i) {
    ServerEntry& server = servers_[i];
    if (kept[i] || server.removed) continue;
    server.removed = true;
    if (server.state == ServerState::kUp) Drain(server);
    if (server.state == ServerState::kDraining) continue;
    if (server.has_stream()) connections_.Close(server);
    Remove(server);
    placement_.PlaceBy(clock_.now());
  }
}

void FetchController::OnConsumerWaiting(absl::Time now, uint64_t step) {
  SetNow(now);
  slots_.NoteWaiting(step);
}

void FetchController::OnSlotReleased(uint32_t slot) { slots_.Release(slot); }

}  // namespace penstock
