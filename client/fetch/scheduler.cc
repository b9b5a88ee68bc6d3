#include "client/fetch/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

uint64_t CountSteps(const Steps& steps, uint64_t max_steps) {
  return max_steps == 0 ? steps.num_steps() : std::min(steps.num_steps(), max_steps);
}

// Codes that asking again may cure.
bool MayPass(absl::StatusCode code) {
  return code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kResourceExhausted ||
         code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kAborted;
}

// Of a window, in a row. A server's limit that stands after a second or so will not pass.
uint32_t MaxFailures(absl::StatusCode code) {
  return code == absl::StatusCode::kResourceExhausted ? 5 : 10;
}

absl::Duration WindowBackoff(uint32_t failures) {
  return std::min(absl::Milliseconds(50) * (1 << std::min(failures, 6u)), absl::Seconds(2));
}

}  // namespace

FetchScheduler::FetchScheduler(const Plan& plan, const Steps& steps, SchedulerOptions options,
                               SchedulerActions& actions)
    : plan_(plan),
      steps_(steps),
      options_(std::move(options)),
      num_steps_(CountSteps(steps, options_.max_steps)),
      fetch_rows_(static_cast<uint32_t>(
          std::clamp<uint64_t>(options_.fetch_bytes / options_.row_bytes, 1, 1u << 20))),
      max_windows_(std::max<size_t>(512, 2 * plan.lanes() + 64)),
      actions_(actions),
      servers_(options_.servers, options_.seed),
      lost_requests_(options_.servers.size()),
      lanes_(plan.lanes()),
      slots_(options_.num_slots),
      slot_of_step_(options_.num_slots) {
  for (uint32_t slot = options_.num_slots; slot-- > 0;) free_slots_.push_back(slot);
}

absl::Time FetchScheduler::Advance(absl::Time now) {
  if (ended_) CloseAll();
  if (ended_) return absl::InfiniteFuture();
  if (num_steps_ == 0) {
    ended_ = true;
    actions_.Finish();
    return absl::InfiniteFuture();
  }
  CheckTimeouts(now);
  if (!ended_) Connect(now);
  if (!ended_) Place(now);
  if (!ended_) Walk();
  if (!ended_) OpenWindows(now);
  if (!ended_) Pump(now);
  if (!ended_) CloseDrained();
  if (ended_) CloseAll();
  return ended_ ? absl::InfiniteFuture() : NextWake(now);
}

void FetchScheduler::OnHello(absl::Time now, StreamId stream, const ServerInfo& info) {
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr) return;
  server->heard_at = now;
  if (!servers_.AcceptHello(*server, now, info)) {
    CloseStreamOf(stream.server);
    return;
  }
  if (!settle_by_) settle_by_ = now + absl::Milliseconds(300);
  lane_server_.clear();  // Placed anew by Advance().
}

void FetchScheduler::OnWindowReady(absl::Time now, StreamId stream, uint64_t number) {
  if (ServerEntry* server = servers_.Find(stream)) server->heard_at = now;
  WindowEntry* window = windows_.Find(number);
  if (window != nullptr && window->opened_on == stream) window->failures = 0;
}

void FetchScheduler::OnCredit(absl::Time now, StreamId stream, uint64_t bytes) {
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr) return;
  server->heard_at = now;
  server->credit_bytes = bytes;
  pump_ = true;
}

void FetchScheduler::OnDraining(absl::Time now, StreamId stream, absl::Duration) {
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || server->state != ServerState::kUp) return;
  server->heard_at = now;
  Drain(stream.server);
}

void FetchScheduler::OnConsumerWaiting(absl::Time, uint64_t step) {
  if (step < waited_for_ || step < next_delivery_) return;
  waited_for_ = step + 1;
  pump_ = true;
}

void FetchScheduler::OnError(absl::Time now, StreamId stream, const StreamError& error) {
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return;
  server->heard_at = now;
  RequestEntry* request = error.request ? requests_.Find(*error.request) : nullptr;
  if (request != nullptr && !(request->stream == stream)) request = nullptr;
  WindowEntry* window = request != nullptr ? request->window
                        : error.window     ? windows_.Find(*error.window)
                                           : nullptr;
  if (window == nullptr) return;  // Given up meanwhile.
  if (!MayPass(error.status.code()) || ++window->failures >= MaxFailures(error.status.code())) {
    return Fail(Annotate(error.status, server->address));
  }
  window->retry_at = now + WindowBackoff(window->failures);
  GiveUpOn(*window, stream);
}

void FetchScheduler::OnBroken(absl::Time now, StreamId stream, absl::Status status) {
  if (servers_.Find(stream) != nullptr && !ended_) Lose(now, stream.server, std::move(status));
}

std::span<const RowCopy> FetchScheduler::OnPart(absl::Time now, StreamId stream, uint64_t number,
                                                uint32_t first_row, uint32_t rows) {
  copies_.clear();
  ServerEntry* server = servers_.Find(stream);
  if (server == nullptr || ended_) return copies_;
  server->heard_at = now;
  RequestEntry* request = requests_.Find(number);
  if (request == nullptr || !(request->stream == stream)) return copies_;
  const bool within = first_row < request->rows && rows <= request->rows - first_row;
  if (within && rows > 0 && request->Overlaps(first_row, rows) &&
      request->Contains(first_row, rows)) {
    return copies_;  // An answer that came twice.
  }
  if (!within || rows == 0 || request->Overlaps(first_row, rows)) {
    Lose(now, stream.server,
         absl::FailedPreconditionError(
             absl::StrCat("answered rows [", first_row, ", ", uint64_t{first_row} + rows,
                          ") of a request for ", request->rows, " rows, or some of them twice")));
    return copies_;
  }
  server->productive = true;
  server->backoff = absl::ZeroDuration();
  request->received.push_back({first_row, rows});
  copying_ = request;
  uint32_t at = 0;  // Of the range, in the answer.
  for (uint32_t i = request->ranges.head; i != kNoRange && at < first_row + rows;
       i = ranges_[i].next) {
    const Range& range = ranges_[i];
    const uint32_t begin = std::max(at, first_row);
    const uint32_t end = std::min(at + range.rows, first_row + rows);
    if (begin < end) {
      copies_.push_back({begin - first_row, end - begin, range.slot, range.slot_row + begin - at});
    }
    at += range.rows;
  }
  return copies_;
}

void FetchScheduler::OnPartCopied() {
  RequestEntry& request = *std::exchange(copying_, nullptr);
  for (const RowCopy& copy : copies_) {
    slots_[copy.slot].rows_missing -= copy.rows;
    request.rows_missing -= copy.rows;
  }
  request.window->failures = 0;
  if (request.rows_missing == 0) EndRequest(request);
  DeliverReady();
}

void FetchScheduler::OnSlotReleased(uint32_t slot) {
  free_slots_.push_back(slot);
  ++num_released_;
  pump_ = true;
}

}  // namespace penstock
