#include "records/engine/admission.h"

#include <tuple>
#include <utility>

namespace penstock {

void Admission::Enqueue(WindowState& window) {
  window.phase = WindowState::Phase::kWaiting;
  window.queued = true;
  window.fits_at = 0;
  (window.session->*QueueOf(window)).Insert(&window);
  ++num_waiting_;
  changed_ = true;
}

void Admission::Dequeue(WindowState& window) {
  (window.session->*QueueOf(window)).Remove(&window);
  window.queued = false;
  --num_waiting_;
}

void Admission::Use(WindowState& window, Clock::time_point now) {
  const bool queued = window.queued;
  if (queued) Dequeue(window);
  window.in_use = true;
  if (queued) Enqueue(window);
  const bool loads =
      window.phase == WindowState::Phase::kLoading || window.phase == WindowState::Phase::kBuilding;
  if (loads) SetAwaited(window, true);
  if (window.ready_in == nullptr) return;
  used_.splice(used_.end(), announced_, window.ready_at);
  announced_bytes_ -= window.bytes;
  window.session->ready_bytes += window.bytes;
  window.ready_in = &used_;
  window.last_used = now;
}

void Admission::SetAwaited(WindowState& window, bool awaited) {
  if (window.awaited == awaited) return;
  window.awaited = awaited;
  window.session->num_awaited += awaited ? 1 : -1;
  changed_ = true;  // A stay may begin, or others may take memory of ready windows.
}

void Admission::SetReady(WindowState& window, Clock::time_point now) {
  window.phase = WindowState::Phase::kReady;
  window.ready_in = window.in_use ? &used_ : &announced_;
  window.ready_at = window.ready_in->insert(window.ready_in->end(), &window);
  window.last_used = now;
  (window.in_use ? window.session->ready_bytes : announced_bytes_) += window.bytes;
  SetAwaited(window, false);
  if (!window.in_use) changed_ = true;  // The window can yield now.
}

void Admission::Touch(WindowState& window, Clock::time_point now) {
  window.last_used = now;
  Windows* list = window.ready_in;
  if (list != nullptr) list->splice(list->end(), *list, window.ready_at);
}

void Admission::Withdraw(WindowState& window) {
  if (window.queued) {
    Dequeue(window);
    changed_ = true;  // Others may have waited behind this window.
  }
  Unpin(window);
}

void Admission::NoteIdle(WindowState& window) {
  if (std::exchange(window.passed_over, false)) changed_ = true;  // The window can yield now.
}

void Admission::LetGo(uint64_t bytes) {
  store_.LetGo(bytes);
  changed_ = true;
}

void Admission::Unpin(WindowState& window) {
  SetAwaited(window, false);
  if (window.ready_in != nullptr) {
    (window.in_use ? window.session->ready_bytes : announced_bytes_) -= window.bytes;
    window.ready_in->erase(window.ready_at);
  }
  window.ready_in = nullptr;
  if (window.chunks.empty()) return;
  for (ChunkEntry* chunk : window.chunks) std::erase(chunk->waiters, &window);
  SharedWindows::Leave(window);
  store_.Unpin(window.chunks, window.table_bytes);
  window.chunks.clear();
  window.missing = 0;
  changed_ = true;
}

// Definitions reduce the room of windows that are only announced, but not that of windows in use:
// what a client defines must not keep it from reading.
uint64_t Admission::RoomFor(const WindowState& window) const {
  const uint64_t budget = store_.budget_bytes();
  if (window.in_use || store_.pinned_bytes() == 0) return budget;
  return budget - std::min(budget, store_.held_bytes());
}

// Others may pin chunks of this window too, but these chunks count only once. So a window that did
// not fit can fit only after something was unpinned.
bool Admission::TryAdmit(WindowState& window) {
  if (store_.unpinned_bytes() < window.fits_at) return false;
  SessionState& session = *window.session;
  ++num_looks_;
  const uint64_t pinned = store_.PinnedWith(window.definition, *session.layout, window.table_bytes);
  if (pinned > RoomFor(window)) {
    window.fits_at = store_.unpinned_bytes() + pinned - std::min(pinned, store_.budget_bytes());
    return false;
  }
  Dequeue(window);
  store_.Pin(window.definition, session.layout, window.table_bytes, window.chunks);
  for (ChunkEntry* chunk : window.chunks) {
    if (chunk->state == ChunkEntry::State::kResident) continue;
    chunk->waiters.push_back(&window);
    ++window.missing;
  }
  window.next_load = 0;
  window.phase = window.missing > 0 ? WindowState::Phase::kLoading : WindowState::Phase::kBuilding;
  if (window.in_use) SetAwaited(window, true);
  session.last_admission = ++admissions_;
  session.window_work.Insert(&window);
  return true;
}

uint64_t Admission::Lacks(const WindowState& window) const {
  return window.fits_at - std::min(window.fits_at, store_.unpinned_bytes());
}

WindowState* Admission::LongestUnread() const {
  if (used_.empty() || announced_.empty()) {
    const Windows& windows = used_.empty() ? announced_ : used_;
    return windows.empty() ? nullptr : windows.front();
  }
  return used_.front()->last_used <= announced_.front()->last_used ? used_.front()
                                                                   : announced_.front();
}

Admission::Clock::time_point Admission::next_yield() const {
  const WindowState* window = LongestUnread();
  return window == nullptr ? Clock::time_point::max() : window->last_used + idle_pin_;
}

void Admission::Yield(WindowState& window) {
  Unpin(window);
  window.phase = WindowState::Phase::kYielded;
  ++num_yielded_;
}

bool Admission::MayYieldUnread(const WindowState& window, const Turns& turns) {
  if (window.active > 0) return false;
  return window.requests == 0 || turns.AwaitedBytes(*window.session) > 0;
}

void Admission::YieldUsed(WindowState& window, const Turns& turns) {
  SessionState& session = *window.session;
  const size_t awaited = window.requests > 0 ? turns.AwaitedBytes(session) : 0;
  Yield(window);
  session.runnable.MoveTo(window.pending, [&window](const RequestState& request) {
    return request.window == &window && request.refusal.status.ok();
  });
  if (window.pending.empty()) return;
  if (awaited == 0 && session.stalled_at_bytes == 0) return Requeue(window);
  if (session.stalled_at_bytes == 0) stalled_.push_back(&session);
  session.stalled_at_bytes = std::max<size_t>(awaited, 1);
}

void Admission::Resume(const Turns& turns) {
  std::erase_if(stalled_, [this, &turns](SessionState* session) {
    if (!turns.MayHave(*session, session->stalled_at_bytes)) return false;
    Requeue(*session);
    return true;
  });
}

void Admission::Requeue(SessionState& session) {
  session.stalled_at_bytes = 0;
  for (auto& [number, window] : session.windows) {
    if (window->phase == WindowState::Phase::kYielded && !window->pending.empty()) Requeue(*window);
  }
}

void Admission::Requeue(WindowState& window) {
  window.needed_at = window.pending.front()->needed_at;
  for (const RequestState* request : window.pending) {
    window.needed_at = std::min(window.needed_at, request->needed_at);
  }
  Enqueue(window);
}

bool Admission::MayLose(const SessionState& session, Clock::time_point now) {
  return now >= session.keeps_until;
}

void Admission::UpdateStays(const Turns& turns, Clock::time_point now) {
  for (SessionState* session : turns.sessions()) {
    if (!session->gathers) continue;
    const bool whole = session->waiting_used.empty() && session->num_awaited == 0;
    if (!whole && now < session->keeps_until) continue;
    session->gathers = false;
    session->keeps_until = whole ? now + stay_ : now;
  }
}

void Admission::CountLosable(const Turns& turns, Clock::time_point now) {
  losable_bytes_ = 0;
  for (const SessionState* session : turns.sessions()) {
    if (MayLose(*session, now)) losable_bytes_ += session->ready_bytes;
  }
}

uint64_t Admission::FindCandidates(const SessionState& session, Clock::time_point now) {
  uint64_t bytes = announced_bytes_;
  candidates_.assign(announced_.rbegin(), announced_.rend());
  const auto first_used = static_cast<std::ptrdiff_t>(candidates_.size());
  for (WindowState* window : used_) {
    if (window->session == &session || !MayLose(*window->session, now)) continue;
    if (window->active > 0) {
      window->passed_over = true;
      continue;
    }
    candidates_.push_back(window);
    bytes += window->bytes;
  }
  std::stable_sort(candidates_.begin() + first_used, candidates_.end(),
                   [](const WindowState* a, const WindowState* b) {
                     return a->session->keeps_until < b->session->keeps_until;
                   });
  return bytes;
}

bool Admission::AdmitInTheirPlace(WindowState& window, const Turns& turns, Clock::time_point now) {
  SessionState& session = *window.session;
  const bool may_lose = MayLose(session, now);
  const uint64_t lacks = Lacks(window);
  const uint64_t own_bytes = may_lose ? session.ready_bytes : 0;
  if (announced_bytes_ + losable_bytes_ - own_bytes < lacks) return false;
  if (FindCandidates(session, now) < lacks) return false;
  bool admitted = false;
  for (size_t i = 0; i < candidates_.size() && !admitted; ++i) {
    YieldUsed(*candidates_[i], turns);
    admitted = TryAdmit(window);
  }
  if (may_lose) {
    session.gathers = true;
    session.keeps_until = now + idle_pin_;
  }
  CountLosable(turns, now);
  return admitted;
}

bool Admission::AdmitBeforeAnnounced(WindowState& window) {
  if (announced_bytes_ < Lacks(window)) return false;
  while (!announced_.empty()) {
    Yield(*announced_.back());
    if (TryAdmit(window)) return true;
  }
  return false;
}

bool Admission::Admit(WindowState& window, const Turns& turns, Clock::time_point now) {
  if (TryAdmit(window)) return true;
  if (window.in_use && AdmitBeforeAnnounced(window)) return true;
  while (now >= next_yield()) {
    WindowState& unread = *LongestUnread();
    if (!MayYieldUnread(unread, turns)) {
      Touch(unread, now);
      continue;
    }
    YieldUsed(unread, turns);
    if (TryAdmit(window)) return true;
  }
  return window.in_use && AdmitInTheirPlace(window, turns, now);
}

void Admission::RunInTurn(Waiting waiting, const Turns& turns, Clock::time_point now) {
  // Sessions in their stay come first, then those whose last stay ended longest ago.
  const auto rank = [waiting, now](const SessionState* session) {
    const WindowState& window = *(session->*waiting).first();
    const bool stays = !MayLose(*session, now);
    return std::tuple(!stays, stays ? Clock::time_point() : session->keeps_until,
                      session->last_admission, window.needed_at, window.sequence);
  };
  const auto later = [&rank](const SessionState* a, const SessionState* b) {
    return rank(a) > rank(b);
  };
  in_turn_.clear();
  for (SessionState* session : turns.sessions()) {
    if (!(session->*waiting).empty()) in_turn_.push_back(session);
  }
  std::make_heap(in_turn_.begin(), in_turn_.end(), later);
  while (!in_turn_.empty()) {
    std::pop_heap(in_turn_.begin(), in_turn_.end(), later);
    NeededOrder<WindowState>& windows = in_turn_.back()->*waiting;
    const bool admitted = Admit(*windows.first(), turns, now);
    // An announced window must not be overtaken by smaller ones, or a large one would wait for
    // ever. A window in use may be overtaken by another client's, because a client cannot release
    // what it has before it gets the windows that it waits for.
    if (!admitted && waiting == &SessionState::waiting_announced) return;
    if (!admitted || windows.empty()) {
      in_turn_.pop_back();
    } else {
      std::push_heap(in_turn_.begin(), in_turn_.end(), later);
    }
  }
}

void Admission::Run(const Turns& turns, Clock::time_point now) {
  UpdateStays(turns, now);
  CountLosable(turns, now);
  RunInTurn(&SessionState::waiting_used, turns, now);
  RunInTurn(&SessionState::waiting_announced, turns, now);
  next_stay_end_ = Clock::time_point::max();
  for (const SessionState* session : turns.sessions()) {
    if (!MayLose(*session, now)) next_stay_end_ = std::min(next_stay_end_, session->keeps_until);
  }
  changed_ = false;
}

}  // namespace penstock
