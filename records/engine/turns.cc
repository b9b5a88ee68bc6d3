#include "records/engine/turns.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

// Below a part: a session that has one small request waiting at its turn, and asks for the next
// when it is answered, must not get less than one that has many waiting.
constexpr int64_t kQuantum = 64 << 10;

uint32_t NextRows(const RequestState& request) {
  return static_cast<uint32_t>(std::min<uint64_t>(request.decoding->rows_per_part,
                                                  request.pattern.size() - request.next_row));
}

bool Refused(const RequestState& request) {
  return !request.refusal.ok() || request.window->phase == WindowState::Phase::kFailed;
}

int64_t Cost(const Job& job) {
  if (job.kind == Job::Kind::kLoad) return std::max(job.chunk->ref.size, job.chunk->ref.raw_size);
  if (job.kind == Job::Kind::kDecode) return static_cast<int64_t>(job.bytes());
  return 1024;  // Something, so that no session is free of charge.
}

}  // namespace

void Turns::Remove(SessionState& session) {
  std::erase(ring_, &session);
  if (turn_ >= ring_.size()) turn_ = 0;
}

bool Turns::MayRun(const SessionState& session, const RequestState& request) const {
  if (Refused(request)) return true;
  const size_t capacity = PartPool::Capacity(NextRows(request) * request.decoding->row_bytes);
  // One part a session always: others that do not read must not stop it.
  const uint64_t limit = std::min(session.max_part_bytes, limits_.session_part_bytes);
  return session.part_bytes == 0 || (session.part_bytes + capacity <= limit &&
                                     part_bytes_ + capacity <= limits_.engine_part_bytes);
}

bool Turns::HasWork(const SessionState& session) const {
  return !session.window_work.empty() ||
         (!session.runnable.empty() && MayRun(session, *session.runnable.front()));
}

bool Turns::AnyWork() const {
  return std::any_of(ring_.begin(), ring_.end(),
                     [this](const SessionState* session) { return HasWork(*session); });
}

bool Turns::Take(Job& job) {
  while (true) {
    int64_t least_debt = std::numeric_limits<int64_t>::max();
    for (size_t passed = 0; passed < ring_.size();) {
      SessionState& session = *ring_[turn_];
      const bool has_work = HasWork(session);
      if (has_work && session.deficit > 0) {
        if (!TakeFrom(session, job)) continue;
        session.deficit -= Cost(job);
        return true;
      }
      if (has_work) least_debt = std::min(least_debt, -session.deficit);
      Advance();
      ++passed;
    }
    if (least_debt == std::numeric_limits<int64_t>::max()) return false;
    BeginRounds(least_debt / kQuantum + 1);
  }
}

void Turns::BeginRounds(int64_t rounds) {
  for (SessionState* session : ring_) {
    const int64_t deficit = session->deficit + rounds * kQuantum;
    // Turns cannot be saved up.
    session->deficit = HasWork(*session) ? deficit : std::min(deficit, kQuantum);
  }
}

bool Turns::TakeFrom(SessionState& session, Job& job) {
  WindowState* window = session.window_work.empty() ? nullptr : session.window_work.front();
  RequestState* request = session.runnable.empty() ? nullptr : session.runnable.front();
  if (request != nullptr && !MayRun(session, *request)) request = nullptr;
  if (window != nullptr && (request == nullptr || window->needed_at <= request->needed_at)) {
    return TakeFromWindow(session, *window, job);
  }
  if (request == nullptr) return false;
  TakeRows(session, *request, job);
  return true;
}

bool Turns::TakeFromWindow(SessionState& session, WindowState& window, Job& job) {
  if (window.phase == WindowState::Phase::kLoading) {
    while (window.next_load < window.chunks.size()) {
      ChunkEntry* chunk = window.chunks[window.next_load++];
      if (chunk->state != ChunkEntry::State::kQueued) continue;
      chunk->state = ChunkEntry::State::kLoading;
      window.read_bytes += chunk->file_bytes;
      job = {.kind = Job::Kind::kLoad, .session = &session, .chunk = chunk};
      ++session.active;
      return true;
    }
    session.window_work.PopFront();  // The rest is loading; the last of it brings it back.
    return false;
  }
  session.window_work.PopFront();
  const bool failed = window.phase == WindowState::Phase::kFailed;
  job = {.kind = failed ? Job::Kind::kRefuseWindow : Job::Kind::kBuild,
         .session = &session,
         .window = &window};
  ++window.active;
  ++session.active;
  return true;
}

void Turns::TakeRows(SessionState& session, RequestState& request, Job& job) {
  const bool refused = Refused(request);
  job = {.kind = refused ? Job::Kind::kRefuseRequest : Job::Kind::kDecode,
         .session = &session,
         .window = request.window,
         .request = &request,
         .begin = request.next_row,
         .rows = NextRows(request)};
  session.waiting_bytes -= request.waiting_bytes();
  request.next_row = refused ? request.pattern.size() : request.next_row + job.rows;
  session.waiting_bytes += request.waiting_bytes();
  if (request.all_taken()) session.runnable.PopFront();
  ++request.active;
  ++request.window->active;
  ++session.active;
  if (refused) return;
  const size_t capacity = PartPool::Capacity(job.bytes());
  session.part_bytes += capacity;
  part_bytes_ += capacity;
}

void Turns::PartReturned(SessionState* session, size_t capacity) {
  part_bytes_ -= capacity;
  if (session != nullptr) session->part_bytes -= capacity;
}

}  // namespace penstock
