// Decides which windows get memory, and which must give up theirs.
#ifndef PENSTOCK_RECORDS_ENGINE_ADMISSION_H_
#define PENSTOCK_RECORDS_ENGINE_ADMISSION_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <vector>

#include "records/engine/chunk_store.h"
#include "records/engine/session_state.h"
#include "records/engine/turns.h"

namespace penstock {

// A window takes the memory of all its chunks at once, so windows never wait for each other with
// half of their chunks pinned. Windows in use, which are those that were fetched from, come before
// windows that are only announced. In each group, sessions take turns, each with its earliest
// needed window.
//
// To make room for a window in use, other windows yield: they give up their memory, and their
// chunks are loaded again at the next fetch.
//   - Windows that are only announced yield, the one that became ready last first.
//   - Any window that was not read for `idle_pin` yields, the longest unread first. This includes a
//     window whose rows were requested, if its session gets no parts because it does not take the
//     parts that it was sent. Its chunks are loaded again once the session takes them.
//
// A client reads its windows side by side. If it lacks one of them, it soon waits while all its
// others are in memory. If the windows of all clients do not fit, clients therefore take turns. A
// client that waits takes the memory that it lacks from clients whose stay is over, beginning with
// the one whose turn was longest ago. It then stays for `stay`, counted from the moment when all
// its windows are loaded. It takes memory only if that is enough for the window.
//
// Memory for definitions is taken at OpenWindow(). To make room for it, chunks that nobody pins are
// evicted, and windows that are only announced wait.
//
// A server that is short of memory calls Run() at every turn. So Run() looks only at the earliest
// needed window of each session. It looks again at the chunks of a window that did not fit only
// after as much memory as it lacked was unpinned. With S sessions, Run() takes O(S log S), plus the
// chunks of these windows and of windows that yield. The numbers of waiting and ready windows do
// not matter, except when a session takes from others: Run() then looks once at all windows in use.
//
// Not thread-safe: guarded by the scheduler's lock.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  Admission(uint64_t budget_bytes, Clock::duration idle_pin, Clock::duration stay)
      : store_(budget_bytes), idle_pin_(std::max(idle_pin, Clock::duration(1))), stay_(stay) {}

  // Memory in bytes of a window with all its chunks. Saturates.
  static uint64_t WindowBytes(const WindowState& window) {
    return ChunkStore::WindowBytes(window.definition, *window.session->layout, window.table_bytes);
  }

  // The window becomes kWaiting, until Run() admits it.
  void Enqueue(WindowState& window);
  // Call it when the window is fetched from for the first time.
  void Use(WindowState& window, Clock::time_point now);
  // The rows of the window are available: it is kReady until it yields.
  void SetReady(WindowState& window, Clock::time_point now);
  // Rows of the window were read.
  void Touch(WindowState& window, Clock::time_point now);
  // Removes the window from the queue, or takes its memory from it. REQUIRES: no job holds it.
  void Withdraw(WindowState& window);
  // No job holds the window any more.
  void NoteIdle(WindowState& window);
  // Gives back bytes that store().Hold() took.
  void LetGo(uint64_t bytes);

  // The session ends. Its windows are withdrawn separately.
  void Forget(SessionState& session) { std::erase(stalled_, &session); }

  // Sessions that did not read, and may have parts again, are queued for their windows that
  // yielded.
  void Resume(const Turns& turns);
  // Admits what fits. Admitted windows become kLoading or kBuilding, and part of window_work of
  // their sessions.
  void Run(const Turns& turns, Clock::time_point now);
  // Whether Run() may find room that it did not find before.
  bool MayAdmit(Clock::time_point now) const {
    return anyone_waits() && (changed_ || now >= next_change());
  }

  bool anyone_waits() const { return num_waiting_ > 0; }
  // The time from which Run() may find more room although nothing happened.
  Clock::time_point next_change() const { return std::min(next_yield(), next_stay_end_); }

  ChunkStore& store() { return store_; }
  const ChunkStore& store() const { return store_; }
  size_t num_waiting() const { return num_waiting_; }
  uint64_t num_yielded() const { return num_yielded_; }
  // Number of windows whose chunks were examined to see whether they fit.
  uint64_t num_looks() const { return num_looks_; }

 private:
  using Windows = std::list<WindowState*>;
  using Waiting = NeededOrder<WindowState> SessionState::*;

  static Waiting QueueOf(const WindowState& window) {
    return window.in_use ? &SessionState::waiting_used : &SessionState::waiting_announced;
  }
  void Dequeue(WindowState& window);
  // Admits windows of `waiting`, with sessions in turn.
  void RunInTurn(Waiting waiting, const Turns& turns, Clock::time_point now);
  uint64_t RoomFor(const WindowState& window) const;
  bool TryAdmit(WindowState& window);
  // Returns how many bytes the window lacks. REQUIRES: TryAdmit() has just refused it.
  uint64_t Lacks(const WindowState& window) const;
  // Admits the window if windows that are only announced have enough memory. They then yield.
  bool AdmitBeforeAnnounced(WindowState& window);
  // Like TryAdmit(), but may make others yield.
  bool Admit(WindowState& window, const Turns& turns, Clock::time_point now);
  void SetAwaited(WindowState& window, bool awaited);
  Clock::time_point next_yield() const;
  // The ready window that was not read for longest; null if no window is ready.
  WindowState* LongestUnread() const;
  // Returns false if rows of the window are being read, or will be as soon as its session has its
  // turn.
  static bool MayYieldUnread(const WindowState& window, const Turns& turns);
  void Yield(WindowState& window);
  // Like Yield(), for a window in use. Requests for its rows wait until it has memory again.
  void YieldUsed(WindowState& window, const Turns& turns);

  // Whether others may take memory of the session's windows.
  static bool MayLose(const SessionState& session, Clock::time_point now);
  // Begins and ends stays that are due.
  void UpdateStays(const Turns& turns, Clock::time_point now);
  // Sums up the windows in use of sessions whose stay is over.
  void CountLosable(const Turns& turns, Clock::time_point now);
  // Admits a window in use with the memory of other sessions' windows in use, if that is enough.
  bool AdmitInTheirPlace(WindowState& window, const Turns& turns, Clock::time_point now);
  // Fills candidates_ with the windows that `session` may push out, in that order. Returns their
  // bytes.
  uint64_t FindCandidates(const SessionState& session, Clock::time_point now);
  // Queues the windows of a session that did not read and whose requests wait.
  void Requeue(SessionState& session);
  void Requeue(WindowState& window);
  void Unpin(WindowState& window);

  ChunkStore store_;
  const Clock::duration idle_pin_;
  const Clock::duration stay_;
  // Ready windows, ordered by `last_used`. used_ has those in use, announced_ those only announced.
  Windows used_;
  Windows announced_;
  std::vector<SessionState*> stalled_;  // Sessions with stalled_at_bytes.
  // Used by RunInTurn() and AdmitInTheirPlace(). They are members to reuse their memory.
  std::vector<SessionState*> in_turn_;
  std::vector<WindowState*> candidates_;
  uint64_t losable_bytes_ = 0;    // Computed by CountLosable().
  uint64_t announced_bytes_ = 0;  // Bytes of announced_.
  Clock::time_point next_stay_end_ = Clock::time_point::max();
  bool changed_ = false;  // True if something has changed since the last Run().
  size_t num_waiting_ = 0;
  uint64_t admissions_ = 0;
  uint64_t num_yielded_ = 0;
  uint64_t num_looks_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ADMISSION_H_
