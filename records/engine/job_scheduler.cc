#include "records/engine/job_scheduler.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/status.h"
#include "records/engine/window_check.h"

namespace penstock {
namespace {

using Phase = WindowState::Phase;

// Memory of the window's state, definition and pins, of entries that refer to it, and of their
// allocations.
uint64_t DefinitionBytes(const OpenWindow& definition) {
  uint64_t bytes = sizeof(WindowState) + 256;
  bytes += definition.chunks.capacity() * (sizeof(ChunkRef) + 3 * sizeof(ChunkEntry*));
  bytes += definition.damaged.capacity() * sizeof(DamagedRecord);
  for (const ShardRef& shard : definition.shards) bytes += shard.path.capacity() + 32;
  return bytes + definition.shards.capacity() * sizeof(ShardRef);
}

// Memory of one request.
constexpr uint64_t kRequestBytes = sizeof(RequestState) + 64;

// Memory of a spec's tables. Small ones count as 0, like the rest of a session, because the number
// of sessions is limited.
uint64_t SpecBytes(const Decodings& spec) {
  constexpr uint64_t kCounted = uint64_t{64} << 10;
  return spec.bytes() < kCounted ? 0 : spec.bytes();
}

// Returns the number of windows whose rows wait for memory if the first of them was refused memory,
// else 0. A window that no thread has looked at yet, because all threads read or send, waits for a
// thread.
uint64_t StarvedWindows(const SessionState& session) {
  const WindowState* first = session.waiting_used.first();
  return first == nullptr || first->fits_at == 0 ? 0 : session.waiting_used.size();
}

// Whether the session waits for a thread, and neither for memory nor for storage.
bool IsQueued(const SessionState& session) {
  if (!session.runnable.empty() || !session.window_work.empty()) return true;
  if (!session.waiting_used.empty()) return true;
  return std::any_of(session.requests.begin(), session.requests.end(),
                     [](const auto& request) { return request.second->active > 0; });
}

absl::Status UnknownWindow(uint64_t window) {
  return absl::InvalidArgumentError(absl::StrCat("window ", window, " is not open"));
}

// Memory of the window's rows.
uint64_t TableBytes(const OpenWindow& window, bool knows_ids) {
  const uint64_t spare_rows = window.has_spare && knows_ids ? window.chunks.back().records : 0;
  return WindowRows::Bytes(window.rows, knows_ids) + spare_rows * sizeof(WindowRows::Row);
}

}  // namespace

JobScheduler::JobScheduler(uint64_t budget_bytes, const EngineLimits& limits, PartLedger& parts,
                           bool share_parts, const StorageSpeed& speed)
    : limits_(limits),
      speed_(speed),
      admission_(budget_bytes, limits.idle_pin, limits.stay),
      parts_(parts),
      turns_(limits, parts, share_parts) {}

absl::StatusOr<SessionState*> JobScheduler::AddSession(std::unique_ptr<SessionState> session) {
  MutexLock lock(&mutex_);
  if (sessions_.size() >= limits_.max_sessions) {
    return absl::ResourceExhaustedError(
        absl::StrCat(sessions_.size(), " clients are connected; the limit is ",
                     limits_.max_sessions, "; try again when one has left"));
  }
  PENSTOCK_RETURN_IF_ERROR(HoldSpec(*session->decodings));
  SessionState* state = session.get();
  sessions_.emplace(state, std::move(session));
  turns_.Add(*state);
  return state;
}

void JobScheduler::EndSession(SessionState& session) {
  MutexLock lock(&mutex_);
  turns_.Remove(session);
  admission_.Forget(session);
  while (!session.requests.empty()) EndRequest(*session.requests.begin()->second);
  while (!session.windows.empty()) {
    Remove(std::move(session.windows.extract(session.windows.begin()).mapped()));
  }
  Wake();
  while (session.active > 0) ended_.Wait(&mutex_);
}

void JobScheduler::ForgetSession(SessionState& session) {
  MutexLock lock(&mutex_);
  admission_.LetGo(session.all_requests.size() * kRequestBytes);
  LetGoOfSpec(*session.decodings);
  Wake();
  sessions_.erase(&session);
}

absl::Status JobScheduler::OpenWindow(SessionState& session, penstock::OpenWindow definition) {
  const absl::Status fits = CheckWindow(definition, session.layout->has_holdout(), limits_);
  if (!fits.ok()) {
    if (!absl::IsResourceExhausted(fits)) return fits;
    definition.shards.clear();  // Nothing of the definition will be read.
    definition.chunks.clear();
    definition.damaged.clear();
    definition.has_spare = false;
  }
  SortDamage(definition);
  const uint64_t number = definition.window;
  auto window = std::make_unique<WindowState>();
  window->session = &session;
  window->needed_at = definition.needed_at;
  window->table_bytes = TableBytes(definition, session.knows_ids);
  window->definition_bytes = DefinitionBytes(definition);
  window->definition = std::move(definition);
  window->bytes = Admission::WindowBytes(*window);

  MutexLock lock(&mutex_);
  PENSTOCK_RETURN_IF_ERROR(MakeRoomFor(session, number));
  PENSTOCK_RETURN_IF_ERROR(
      HoldDefinition(window->definition_bytes, absl::StrCat("the definition of window ", number)));
  window->sequence = ++sequence_;
  WindowState& added = *window;
  session.windows.emplace(number, std::move(window));
  if (!fits.ok()) {
    Fail(added, {fits, std::nullopt});
    return absl::OkStatus();
  }
  const uint64_t budget = WindowBudget();
  if (added.bytes > budget) {
    Fail(added, {absl::ResourceExhaustedError(absl::StrCat(
                     "window ", number, " takes ", FormatByteSize(added.bytes),
                     " of memory, but the server's budget for windows is ", FormatByteSize(budget),
                     ": use smaller windows, or raise --memory-budget")),
                 std::nullopt});
    return absl::OkStatus();
  }
  admission_.Enqueue(added);
  Wake();
  return absl::OkStatus();
}

void JobScheduler::HoldImages(uint64_t bytes) {
  MutexLock lock(&mutex_);
  admission_.store().Hold(bytes);
}

void JobScheduler::Reserve(uint64_t bytes) {
  MutexLock lock(&mutex_);
  admission_.store().Hold(bytes);
  reserved_bytes_ += bytes;
}

void JobScheduler::LetGoOfImages(uint64_t bytes) {
  MutexLock lock(&mutex_);
  admission_.LetGo(bytes);
  Wake();
}

absl::Status JobScheduler::HoldDefinition(uint64_t bytes, absl::string_view what) {
  if (definition_bytes_ + bytes > limits_.max_definition_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("not enough memory for ", what, ": it takes ", FormatByteSize(bytes),
                     ", the definitions of open windows and decode specs take ",
                     FormatByteSize(definition_bytes_), " of this server, and the limit is ",
                     FormatByteSize(limits_.max_definition_bytes),
                     "; use fewer lanes or fewer clients per server, or raise --memory-budget"));
  }
  definition_bytes_ += bytes;
  admission_.store().Hold(bytes);
  return absl::OkStatus();
}

void JobScheduler::LetGoOfDefinition(uint64_t bytes) {
  definition_bytes_ -= bytes;
  admission_.LetGo(bytes);
}

absl::Status JobScheduler::HoldSpec(const Decodings& spec) {
  if (!spec_sessions_.contains(&spec)) {
    PENSTOCK_RETURN_IF_ERROR(HoldDefinition(SpecBytes(spec), "the spec of this client"));
  }
  ++spec_sessions_[&spec];
  return absl::OkStatus();
}

void JobScheduler::LetGoOfSpec(const Decodings& spec) {
  const auto found = spec_sessions_.find(&spec);
  if (--found->second > 0) return;
  spec_sessions_.erase(found);
  LetGoOfDefinition(SpecBytes(spec));
}

void JobScheduler::Delete(WindowState* window) {
  LetGoOfDefinition(window->definition_bytes);
  delete window;
}

// A failed window need not be released. Its number may be used again, and the window is removed
// when the session reaches its limit of windows.
absl::Status JobScheduler::MakeRoomFor(SessionState& session, uint64_t window) {
  auto found = session.windows.find(window);
  if (found != session.windows.end()) {
    if (found->second->phase != Phase::kFailed) {
      return absl::InvalidArgumentError(absl::StrCat("window ", window, " is open already"));
    }
    Remove(std::move(session.windows.extract(found).mapped()));
  }
  if (session.windows.size() < limits_.max_windows) return absl::OkStatus();
  for (auto it = session.windows.begin(); it != session.windows.end();) {
    auto next = std::next(it);
    const bool telling = it->second->phase == Phase::kFailed && it->second->active > 0;
    if (it->second->told || telling) Remove(std::move(session.windows.extract(it).mapped()));
    it = next;
  }
  if (session.windows.size() < limits_.max_windows) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      session.windows.size(), " windows are open; the limit is ", limits_.max_windows));
}

absl::Status JobScheduler::Fetch(SessionState& session, const penstock::Fetch& fetch) {
  MutexLock lock(&mutex_);
  auto found = session.windows.find(fetch.window);
  if (found == session.windows.end()) return UnknownWindow(fetch.window);
  WindowState& window = *found->second;
  PENSTOCK_RETURN_IF_ERROR(CheckFetch(fetch, window.definition.rows));
  return AddRequest(session, window, fetch);
}

absl::Status JobScheduler::AddRequest(SessionState& session, WindowState& window,
                                      const penstock::Fetch& fetch) {
  const absl::StatusOr<Decoding>& decoding = session.decodings->For(fetch.dtype);
  if (!decoding.ok()) return decoding.status();
  if (session.requests.contains(fetch.request)) {
    return absl::InvalidArgumentError(absl::StrCat("request ", fetch.request, " is in use"));
  }
  if (session.requests.size() >= limits_.max_requests) {
    return absl::ResourceExhaustedError(absl::StrCat(
        session.requests.size(), " requests are outstanding; the limit is ", limits_.max_requests));
  }
  if (session.free_requests.empty()) {
    session.all_requests.push_back(std::make_unique<RequestState>());
    admission_.store().Hold(kRequestBytes);
    session.free_requests.push_back(session.all_requests.back().get());
  }
  RequestState& request = *session.free_requests.back();
  session.free_requests.pop_back();
  request.number = fetch.request;
  request.window = &window;
  request.pattern = {fetch.first_row, fetch.rows, fetch.stride, fetch.count};
  request.decoding = &*decoding;
  request.needed_at = fetch.needed_at;
  request.sequence = ++sequence_;
  request.next_row = 0;
  request.ended = false;
  request.refusal = {UseWindow(window), std::nullopt};
  request.to_refuse = false;
  session.requests.emplace(fetch.request, &request);
  session.waiting_bytes += request.waiting_bytes();
  ++window.requests;
  if (window.phase == Phase::kReady || window.told || !request.refusal.status.ok()) {
    session.runnable.Insert(&request);
    Wake();
    return absl::OkStatus();
  }
  window.pending.push_back(&request);
  if (window.phase == Phase::kYielded && session.stalled_at_bytes == 0) {
    window.needed_at = fetch.needed_at;
    admission_.Enqueue(window);
  }
  Wake();
  return absl::OkStatus();
}

// The windows that a client reads side by side must fit together, or they would push each other out
// for ever.
absl::Status JobScheduler::UseWindow(WindowState& window) {
  if (window.in_use || window.phase == Phase::kFailed) return absl::OkStatus();
  SessionState& session = *window.session;
  const uint64_t budget = WindowBudget();
  if (session.in_use_bytes + window.bytes > budget) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "not enough memory for window ", window.definition.window, ": it takes ",
        FormatByteSize(window.bytes), ", this client's other windows in use take ",
        FormatByteSize(session.in_use_bytes), ", and the server's budget for windows is ",
        FormatByteSize(budget),
        "; use fewer lanes, smaller windows or a smaller --look-ahead, add servers, or raise "
        "--memory-budget"));
  }
  admission_.Use(window, Admission::Clock::now());
  session.in_use_bytes += window.bytes;
  return absl::OkStatus();
}

void JobScheduler::Cancel(SessionState& session, uint64_t request) {
  MutexLock lock(&mutex_);
  auto found = session.requests.find(request);
  if (found != session.requests.end()) EndRequest(*found->second);
}

absl::Status JobScheduler::Release(SessionState& session, uint64_t number) {
  MutexLock lock(&mutex_);
  auto found = session.windows.find(number);
  if (found == session.windows.end()) return absl::OkStatus();  // The window failed, and made room.
  Remove(std::move(session.windows.extract(found).mapped()));
  Wake();
  return absl::OkStatus();
}

void JobScheduler::LimitParts(SessionState& session, uint64_t bytes) {
  MutexLock lock(&mutex_);
  session.max_part_bytes = bytes;
  session.share_parts = false;
  for (const auto& [number, window] : session.windows) SharedWindows::StopSharing(*window);
}

void JobScheduler::EndRequest(RequestState& request) {
  WindowState& window = *request.window;
  SessionState& session = *window.session;
  session.requests.erase(request.number);
  session.waiting_bytes -= request.waiting_bytes();
  session.runnable.Remove(&request);
  std::erase(window.pending, &request);
  --window.requests;
  request.ended = true;
  if (request.active == 0) session.free_requests.push_back(&request);
}

void JobScheduler::Remove(std::unique_ptr<WindowState> window) {
  SessionState& session = *window->session;
  for (auto it = session.requests.begin(); it != session.requests.end() && window->requests > 0;) {
    RequestState& request = *(it++)->second;
    if (request.window == window.get()) EndRequest(request);
  }
  session.window_work.Remove(window.get());
  if (window->in_use) session.in_use_bytes -= window->bytes;
  window->released = true;
  // Jobs use the memory of a window only in these phases.
  const bool in_hand = window->phase == Phase::kBuilding || window->phase == Phase::kReady;
  if (window->active == 0 || !in_hand) admission_.Withdraw(*window);
  const bool in_jobs = window->active > 0;
  WindowState* removed = window.release();
  if (!in_jobs) Delete(removed);  // Otherwise the last job deletes it.
}

void JobScheduler::Fail(WindowState& window, const LoadError& error) {
  SessionState& session = *window.session;
  session.window_work.Remove(&window);
  admission_.Withdraw(window);
  window.phase = Phase::kFailed;
  window.error = Unshared(error);
  session.window_work.Insert(&window);
  Wake();
}

void JobScheduler::StartPending(WindowState& window) {
  for (RequestState* request : window.pending) window.session->runnable.Insert(request);
  window.pending.clear();
}

void JobScheduler::PartReturned() {
  MutexLock lock(&mutex_);
  Wake();
}

void JobScheduler::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  work_.NotifyAll();
  loads_.NotifyAll();
  short_jobs_.NotifyAll();
}

EngineStats JobScheduler::stats() const {
  MutexLock lock(&mutex_);
  EngineStats stats = counts_;
  stats.sessions = sessions_.size();
  for (const auto& [state, owner] : sessions_) {
    stats.windows += state->windows.size();
    stats.waiting_requests += state->requests.size();
    stats.waiting_bytes += state->waiting_bytes;
  }
  const ChunkStore& store = admission_.store();
  stats.waiting_windows = admission_.num_waiting();
  stats.windows_yielded = admission_.num_yielded();
  stats.budget_bytes = store.budget_bytes();
  stats.resident_bytes = store.total_bytes();
  stats.pinned_bytes = store.pinned_bytes();
  stats.chunk_hits = store.stats().hits;
  stats.chunks_evicted = store.stats().evicted;
  stats.part_bytes = parts_.bytes();
  return stats;
}

SessionStats JobScheduler::stats(const SessionState& session) const {
  MutexLock lock(&mutex_);
  return {.windows = session.windows.size(),
          .starved_windows = StarvedWindows(session),
          .waiting_requests = session.requests.size(),
          .waiting_bytes = session.waiting_bytes,
          .part_bytes = session.home->part_bytes(),
          .queued = IsQueued(session),
          .decoding_jobs = decoding_jobs_,
          .finished_jobs = finished_jobs_};
}

}  // namespace penstock
