#include "records/engine/admission.h"

#include <algorithm>
#include <tuple>

namespace penstock {

void Admission::Enqueue(WindowState& window) {
  window.phase = WindowState::Phase::kWaiting;
  waiting_.push_back(&window);
}

void Admission::Withdraw(WindowState& window) {
  if (window.phase == WindowState::Phase::kWaiting) std::erase(waiting_, &window);
  Unpin(window);
}

void Admission::Unpin(WindowState& window) {
  if (window.chunks.empty()) return;
  for (ChunkEntry* chunk : window.chunks) std::erase(chunk->waiters, &window);
  SharedWindows::Leave(window);
  store_.Unpin(window.chunks, window.table_bytes);
  window.chunks.clear();
  window.missing = 0;
}

WindowState* Admission::BestUntried() const {
  const auto rank = [](const WindowState* window) {
    return std::tuple(!window->in_use, window->session->last_admission, window->needed_at,
                      window->sequence);
  };
  WindowState* best = nullptr;
  for (WindowState* window : waiting_) {
    if (window->tried == round_) continue;
    if (best == nullptr || rank(window) < rank(best)) best = window;
  }
  return best;
}

// What clients define must not keep them from reading it; that of windows which are only announced
// waits.
uint64_t Admission::RoomFor(const WindowState& window) const {
  const uint64_t budget = store_.budget_bytes();
  if (window.in_use || store_.pinned_bytes() == 0) return budget;
  return budget - std::min(budget, store_.held_bytes());
}

bool Admission::TryAdmit(WindowState& window) {
  SessionState& session = *window.session;
  if (!store_.Pin(window.definition, session.layout, window.table_bytes, RoomFor(window),
                  window.chunks)) {
    return false;
  }
  std::erase(waiting_, &window);
  for (ChunkEntry* chunk : window.chunks) {
    if (chunk->state == ChunkEntry::State::kResident) continue;
    chunk->waiters.push_back(&window);
    ++window.missing;
  }
  window.next_load = 0;
  window.phase = window.missing > 0 ? WindowState::Phase::kLoading : WindowState::Phase::kBuilding;
  session.last_admission = ++admissions_;
  session.window_work.Insert(&window);
  return true;
}

template <typename MayYield>
bool Admission::AdmitByYielding(WindowState& window, std::span<SessionState* const> sessions,
                                const MayYield& may_yield) {
  for (SessionState* session : sessions) {
    for (auto& [number, other] : session->windows) {
      if (!other->idle() || !may_yield(*other)) continue;
      Unpin(*other);
      other->phase = WindowState::Phase::kYielded;
      ++num_yielded_;
      if (TryAdmit(window)) return true;
    }
  }
  return false;
}

void Admission::Run(std::span<SessionState* const> sessions, Clock::time_point now) {
  const auto announced_only = [](const WindowState& window) { return !window.in_use; };
  const auto unread = [&](const WindowState& window) {
    return now - window.last_used >= idle_pin_;
  };
  ++round_;
  while (WindowState* window = BestUntried()) {
    window->tried = round_;
    if (TryAdmit(*window)) continue;
    if (window->in_use && AdmitByYielding(*window, sessions, announced_only)) continue;
    if (AdmitByYielding(*window, sessions, unread)) continue;
    // Smaller windows may not overtake, or a large one would wait for ever; those that a client
    // waits for may: it cannot release what it has before it gets them.
    if (!window->in_use) break;
  }
  FindNextYield(sessions);
}

void Admission::FindNextYield(std::span<SessionState* const> sessions) {
  next_yield_ = Clock::time_point::max();
  if (waiting_.empty()) return;
  for (SessionState* session : sessions) {
    for (auto& [number, window] : session->windows) {
      if (window->idle()) next_yield_ = std::min(next_yield_, window->last_used + idle_pin_);
    }
  }
}

}  // namespace penstock
