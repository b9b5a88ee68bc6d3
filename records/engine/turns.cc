#include "records/engine/turns.h"

#include <algorithm>
#include <limits>

#include "records/engine/row_cost.h"

namespace penstock {
namespace {

// This is less than a part. Otherwise a session with one small request at its turn, which sends the
// next request when it is answered, would get less than a session with many waiting.
constexpr int64_t kQuantum = 64 << 10;

// Size of the next part of a session that has no outstanding part, while the parts of others take
// all memory.
constexpr size_t kSmallPartBytes = size_t{64} << 10;
// For shorter runs of rows, lending each run costs more than decoding them again.
constexpr size_t kMinLentRun = size_t{2} << 10;
// Bytes that a session may be given before its turn. This is more than the chunks of a window, for
// which one session is charged although all its followers read them.
constexpr int64_t kMaxDebt = int64_t{16} << 20;
// Answers that a thread sends before it looks for other work.
constexpr size_t kMaxFollowers = 64;

// If sharing does not pay, one in this many windows is shared to see whether it would.
constexpr uint64_t kProbe = 32;

// Returns whether another session reads the window's rows too, and lending them is worthwhile.
bool IsShared(const SessionState& session, const RequestState& request) {
  const SharedWindow* window = request.window->shared.get();
  const Decoding& decoding = *request.decoding;
  if (!session.share_parts || window == nullptr || window->readers.size() < 2) return false;
  if (decoding.block_rows == 0) return false;
  if (!decoding.use->pays() && window->id % kProbe != 0) return false;
  return IsOneRun(request.pattern) || request.pattern.rows * decoding.row_bytes >= kMinLentRun;
}

bool Refused(const RequestState& request) {
  return !request.refusal.status.ok() || request.window->phase == WindowState::Phase::kFailed;
}

// Returns the earliest needed window that has jobs of the set, or null.
WindowState* NextWindow(const SessionState& session, JobSet set) {
  if (set == JobSet::kAll || set == JobSet::kShort) return session.window_work.first();
  return session.window_work.first([set](const WindowState& window) {
    return (window.phase == WindowState::Phase::kLoading) == (set == JobSet::kLoads);
  });
}

// Inflating a byte takes about as long as expanding this many int8 bytes.
constexpr uint64_t kBytesOfInflatedByte = 16;

// Weight of the last job in the correction of estimates, and the bounds of the correction.
constexpr double kWeightOfLast = 0.25, kLeastCorrection = 0.125, kMostCorrection = 64;

uint64_t CostOfLoad(const ChunkRef& chunk) {
  if (chunk.raw_size == chunk.size) return chunk.size;
  return std::max<uint64_t>(chunk.size, chunk.raw_size * kBytesOfInflatedByte);
}

void Charge(const Job& job) { job.session->deficit -= static_cast<int64_t>(job.cost); }

void CorrectEstimates(const Job& job, double took) {
  const double estimate = static_cast<double>(job.cost) / job.time_of_estimate;
  double& corrected = job.session->time_of_estimate;
  corrected = std::clamp(corrected + kWeightOfLast * (took / estimate - corrected),
                         kLeastCorrection, kMostCorrection);
}

}  // namespace

void Turns::Remove(SessionState& session) {
  std::erase(ring_, &session);
  if (turn_ >= ring_.size()) turn_ = 0;
}

uint64_t Turns::RowsPerPart(const Decoding& decoding) const {
  if (parts_.bytes() < limits_.engine_part_bytes) return decoding.rows_per_part;
  return std::clamp<uint64_t>(kSmallPartBytes / std::max<size_t>(decoding.row_bytes, 1), 1,
                              decoding.rows_per_part);
}

bool Turns::IsLent(const SessionState& session, const RequestState& request, bool leads) const {
  if (!share_parts_ || !IsShared(session, request)) return false;
  return !leads || parts_.bytes() < limits_.engine_part_bytes;
}

size_t Turns::NextBytes(const SessionState& session, const RequestState& request,
                        bool leads) const {
  const Decoding& decoding = *request.decoding;
  const uint64_t rows =
      IsLent(session, request, leads)
          ? decoding.block_rows
          : std::min(RowsPerPart(decoding), request.pattern.size() - request.next_row);
  return rows * decoding.row_bytes;
}

Job Turns::NextPart(SessionState& session, RequestState& request, bool leads) const {
  Job job = {.kind = Job::Kind::kDecode,
             .session = &session,
             .window = request.window,
             .request = &request,
             .begin = request.next_row,
             .time_of_estimate = session.time_of_estimate};
  uint64_t most = request.pattern.size() - request.next_row;
  if (IsLent(session, request, leads)) {
    job.block = BlockOf(request.pattern, job.begin, request.decoding->block_rows,
                        request.window->definition.rows);
    most = RowsInBlock(request.pattern, job.begin, job.block);
  } else {
    most = std::min(RowsPerPart(*request.decoding), most);
  }
  const RowsCost next = CostOfNextRows(request, static_cast<uint32_t>(most));
  job.rows = next.rows;
  job.cost = next.bytes;
  job.least_cost = next.rows * request.decoding->row_bytes;
  return job;
}

bool Turns::MayRun(const SessionState& session, const RequestState& request) const {
  if (Refused(request)) return true;
  return MayHave(session, PartPool::Capacity(NextBytes(session, request, /*leads=*/true)));
}

bool Turns::MayHave(const SessionState& session, size_t capacity) const {
  if (Fits(session, capacity)) return true;
  parts_.Await();
  return Fits(session, capacity);
}

size_t Turns::AwaitedBytes(const SessionState& session) const {
  if (session.runnable.empty() || Refused(*session.runnable.first())) return 0;
  const RequestState& request = *session.runnable.first();
  const size_t capacity = PartPool::Capacity(NextBytes(session, request, /*leads=*/true));
  return MayHave(session, capacity) ? 0 : capacity;
}

bool Turns::MayFollow(const SessionState& session, const RequestState& request) const {
  if (Refused(request)) return false;
  return FitsSession(session, PartPool::Capacity(NextBytes(session, request, /*leads=*/false)));
}

bool Turns::Fits(const SessionState& session, size_t capacity) const {
  // A session may always have one part, so that others that do not read cannot stop it.
  if (session.home->part_bytes() == 0) return true;
  return FitsSession(session, capacity) && parts_.bytes() + capacity <= limits_.engine_part_bytes;
}

bool Turns::FitsSession(const SessionState& session, size_t capacity) const {
  const uint64_t used = session.home->part_bytes();
  const uint64_t limit =
      std::min({session.max_part_bytes, limits_.session_part_bytes, limits_.cached_part_bytes});
  return used == 0 || used + capacity <= limit;
}

bool Turns::HasWork(const SessionState& session, JobSet set) const {
  return NextWindow(session, set) != nullptr || NextRequest(session, set) != nullptr;
}

RequestState* Turns::NextRequest(const SessionState& session, JobSet set) const {
  if (set == JobSet::kLoads || session.runnable.empty()) return nullptr;
  RequestState& request = *session.runnable.first();
  if (set == JobSet::kShort && !Refused(request) && CostOfNextRows(request, 1).bytes > kLongCost) {
    return nullptr;
  }
  return MayRun(session, request) ? &request : nullptr;
}

bool Turns::AnyWork(JobSet set) const {
  return std::any_of(ring_.begin(), ring_.end(),
                     [this, set](const SessionState* session) { return HasWork(*session, set); });
}

bool Turns::Take(JobSet set, std::vector<Job>& jobs) {
  Job job;
  if (!(set == JobSet::kShort ? TakeShort(job) : TakeOne(set, job))) return false;
  jobs.push_back(job);
  if (job.kind == Job::Kind::kDecode && job.block.rows > 0) TakeFollowers(job, jobs);
  return true;
}

void Turns::Settle(const Job& job) {
  if (job.nanoseconds == 0) return;
  const uint64_t took = CostOfTime(job.nanoseconds);
  const auto owed = static_cast<int64_t>(std::max(took, job.least_cost) - job.cost);
  int64_t& deficit = job.session->deficit;
  deficit = std::min(deficit - owed, std::max(deficit, kQuantum));  // Turns cannot be saved up.
  if (job.kind == Job::Kind::kDecode) CorrectEstimates(job, static_cast<double>(took));
}

bool Turns::TakeOne(JobSet set, Job& job) {
  while (true) {
    int64_t least_debt = std::numeric_limits<int64_t>::max();
    for (size_t passed = 0; passed < ring_.size();) {
      SessionState& session = *ring_[turn_];
      const bool has_work = HasWork(session, set);
      if (has_work && session.deficit > 0) {
        if (!TakeFrom(session, set, job)) continue;
        Charge(job);
        return true;
      }
      if (has_work) least_debt = std::min(least_debt, -session.deficit);
      Advance();
      ++passed;
    }
    if (least_debt == std::numeric_limits<int64_t>::max()) return false;
    BeginRounds(set, least_debt / kQuantum + 1);
  }
}

bool Turns::TakeShort(Job& job) {
  while (true) {
    SessionState* next = nullptr;
    for (SessionState* session : ring_) {
      if (next != nullptr && session->deficit <= next->deficit) continue;
      if (HasWork(*session, JobSet::kShort)) next = session;
    }
    if (next == nullptr) return false;
    if (!TakeFrom(*next, JobSet::kShort, job)) continue;
    Charge(job);
    return true;
  }
}

void Turns::BeginRounds(JobSet set, int64_t rounds) {
  for (SessionState* session : ring_) {
    const int64_t deficit = session->deficit + rounds * kQuantum;
    if (HasWork(*session, set)) {
      session->deficit = deficit;
    } else if (!HasWork(*session, JobSet::kAll)) {
      session->deficit = std::min(deficit, kQuantum);  // Turns cannot be saved up.
    }
  }
}

bool Turns::TakeFrom(SessionState& session, JobSet set, Job& job) {
  WindowState* window = NextWindow(session, set);
  RequestState* request = NextRequest(session, set);
  if (window != nullptr && (request == nullptr || window->needed_at <= request->needed_at)) {
    return TakeFromWindow(session, *window, job);
  }
  if (request == nullptr) return false;
  TakeRows(session, *request, /*leads=*/true, job);
  return true;
}

bool Turns::TakeFromWindow(SessionState& session, WindowState& window, Job& job) {
  if (window.phase == WindowState::Phase::kLoading) {
    while (window.next_load < window.chunks.size()) {
      ChunkEntry* chunk = window.chunks[window.next_load++];
      if (chunk->state != ChunkEntry::State::kQueued) continue;
      chunk->state = ChunkEntry::State::kLoading;
      window.read_bytes += chunk->file_bytes;
      job = {.kind = Job::Kind::kLoad,
             .session = &session,
             .chunk = chunk,
             .cost = CostOfLoad(chunk->ref),
             .least_cost = std::max(chunk->ref.size, chunk->ref.raw_size)};
      ++session.active;
      return true;
    }
    session.window_work.Remove(&window);  // The rest is loading. The last load brings it back.
    return false;
  }
  session.window_work.Remove(&window);
  const bool failed = window.phase == WindowState::Phase::kFailed;
  job = {.kind = failed ? Job::Kind::kRefuseWindow : Job::Kind::kBuild,
         .session = &session,
         .window = &window};
  ++window.active;
  ++session.active;
  return true;
}

void Turns::TakeRows(SessionState& session, RequestState& request, bool leads, Job& job) {
  const bool refused = Refused(request);
  if (refused) {
    job = {.kind = Job::Kind::kRefuseRequest,
           .session = &session,
           .window = request.window,
           .request = &request};
  } else {
    job = NextPart(session, request, leads);
  }
  session.waiting_bytes -= request.waiting_bytes();
  request.next_row = refused ? request.pattern.size() : request.next_row + job.rows;
  session.waiting_bytes += request.waiting_bytes();
  if (request.all_taken()) session.runnable.PopFront();
  ++request.active;
  ++request.window->active;
  ++session.active;
  if (refused || session.decodes_rows) return;
  job.leads = leads;
  if (leads) {
    session.home->Reserve(job.decoded_bytes());
  } else {
    session.home->Pin(job.decoded_bytes());
  }
}

void Turns::TakeFollowers(const Job& leader, std::vector<Job>& jobs) {
  for (WindowState* window : leader.window->shared->readers) {
    SessionState& session = *window->session;
    while (jobs.size() < kMaxFollowers && !session.runnable.empty()) {
      RequestState& request = *session.runnable.first();
      if (request.window != window || request.decoding != leader.request->decoding) break;
      if (session.deficit <= -kMaxDebt || !MayFollow(session, request)) break;
      const Job next = NextPart(session, request, /*leads=*/false);
      if (next.block.rows == 0 || next.block.first_row != leader.block.first_row) break;
      TakeRows(session, request, /*leads=*/false, jobs.emplace_back());
      Charge(jobs.back());
    }
  }
}

}  // namespace penstock
