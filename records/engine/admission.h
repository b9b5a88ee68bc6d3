// Which windows get memory, and which give theirs up.
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

// A window takes the memory of all its chunks at once, so windows never wait for one another with
// half of their chunks pinned. Windows that were fetched from come first, then sessions in turn,
// each with its earliest needed window. To make room for a window that was fetched from, windows
// that were only announced give up theirs, last ready first, and so does any window that was not
// read for `idle_pin`, longest first: its chunks are loaded again at the next fetch. It does so too
// where rows of it were asked for, if its session gets none because it does not take those that it
// was sent; then its chunks are loaded again when it does.
//
// A client reads its windows side by side, so one that lacks a window soon waits with all others in
// memory. Where those of all clients do not fit, clients therefore take turns in having theirs: the
// one that waits takes what it lacks from those whose stay is over, of the one that had its turn
// longest ago first, and then stays for a while from the moment that all are loaded. Nothing is
// taken where that would not be enough.
//
// Definitions count from the first word on: for them chunks go that nobody pins, and windows that
// are only announced wait.
//
// A server short of memory asks for all this at every turn, so Run() looks at no more than the
// earliest needed window of each session, and at the chunks of one that did not fit only when as
// much as it lacked was unpinned: with S sessions O(S log S), and the chunks of those windows and
// of the ones that yield. How many windows wait or are ready does not matter, but where a session
// takes from others: then it looks once at all that are in use.
//
// Not thread-safe: the scheduler's lock guards it.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  Admission(uint64_t budget_bytes, Clock::duration idle_pin, Clock::duration stay)
      : store_(budget_bytes), idle_pin_(std::max(idle_pin, Clock::duration(1))), stay_(stay) {}

  // Memory of a window with all its chunks; saturates.
  static uint64_t WindowBytes(const WindowState& window) {
    return ChunkStore::WindowBytes(window.definition, *window.session->layout, window.table_bytes);
  }

  // kWaiting until Run() admits it.
  void Enqueue(WindowState& window);
  // It is fetched from, for the first time.
  void Use(WindowState& window, Clock::time_point now);
  // Its rows are there: kReady, until it yields.
  void SetReady(WindowState& window, Clock::time_point now);
  // Its rows were read.
  void Touch(WindowState& window, Clock::time_point now);
  // Takes the window out of the queue, or its memory from it. REQUIRES: no job holds it.
  void Withdraw(WindowState& window);
  // No job holds it any more.
  void NoteIdle(WindowState& window);
  // Of what store().Hold() took.
  void LetGo(uint64_t bytes);

  // The session ends; its windows are withdrawn.
  void Forget(SessionState& session) { std::erase(stalled_, &session); }

  // Sessions that did not read, and may have parts again, get in line for what they have yielded.
  void Resume(const Turns& turns);
  // Admits what fits: such windows are then kLoading or kBuilding, and work of their sessions.
  void Run(const Turns& turns, Clock::time_point now);
  // Whether Run() may find room that it did not find before.
  bool MayAdmit(Clock::time_point now) const {
    return anyone_waits() && (changed_ || now >= next_change());
  }

  bool anyone_waits() const { return num_waiting_ > 0; }
  // When Run() may find more room although nothing happened.
  Clock::time_point next_change() const { return std::min(next_yield(), next_stay_end_); }

  ChunkStore& store() { return store_; }
  const ChunkStore& store() const { return store_; }
  size_t num_waiting() const { return num_waiting_; }
  uint64_t num_yielded() const { return num_yielded_; }
  // Windows whose chunks were looked at, to see whether they fit.
  uint64_t num_looks() const { return num_looks_; }

 private:
  using Windows = std::list<WindowState*>;
  using Waiting = NeededOrder<WindowState> SessionState::*;

  static Waiting QueueOf(const WindowState& window) {
    return window.in_use ? &SessionState::waiting_used : &SessionState::waiting_announced;
  }
  void Dequeue(WindowState& window);
  // Admits of `waiting`, of sessions in turn.
  void RunInTurn(Waiting waiting, const Turns& turns, Clock::time_point now);
  uint64_t RoomFor(const WindowState& window) const;
  bool TryAdmit(WindowState& window);
  // How much it lacks of what it needs. REQUIRES: TryAdmit() has just refused it.
  uint64_t Lacks(const WindowState& window) const;
  // Windows that are only announced make room, if theirs is enough.
  bool AdmitBeforeAnnounced(WindowState& window);
  // The same as TryAdmit(), where others may have to make room.
  bool Admit(WindowState& window, const Turns& turns, Clock::time_point now);
  void SetAwaited(WindowState& window, bool awaited);
  Clock::time_point next_yield() const;
  // Of the windows that are ready the one that was not read for longest, or null.
  WindowState* LongestUnread() const;
  // False: its rows are being read, or will be as soon as it is its session's turn.
  static bool MayYieldUnread(const WindowState& window, const Turns& turns);
  void Yield(WindowState& window);
  // The same for one that is in use: what was asked of it waits for its memory.
  void YieldUsed(WindowState& window, const Turns& turns);

  // Whether others may take what `session` has.
  static bool MayLose(const SessionState& session, Clock::time_point now);
  // Begins and ends the stays that are due.
  void UpdateStays(const Turns& turns, Clock::time_point now);
  // What sessions whose stay is over have of windows in use.
  void CountLosable(const Turns& turns, Clock::time_point now);
  // Admits a window in use with the memory of other sessions' windows in use, if that is enough.
  bool AdmitInTheirPlace(WindowState& window, const Turns& turns, Clock::time_point now);
  // Fills candidates_ with windows that `session` may push out, those to go first first; their
  // bytes.
  uint64_t FindCandidates(const SessionState& session, Clock::time_point now);
  // What waits for a session that did not read.
  void Requeue(SessionState& session);
  void Requeue(WindowState& window);
  void Unpin(WindowState& window);

  ChunkStore store_;
  const Clock::duration idle_pin_;
  const Clock::duration stay_;
  // Windows that are ready, by `last_used`: those that were fetched from, and the others.
  Windows used_;
  Windows announced_;
  std::vector<SessionState*> stalled_;    // With stalled_at_bytes.
  std::vector<SessionState*> in_turn_;    // Of RunInTurn(): kept for its memory.
  std::vector<WindowState*> candidates_;  // Of AdmitInTheirPlace(), too.
  uint64_t losable_bytes_ = 0;            // See CountLosable().
  uint64_t announced_bytes_ = 0;          // Of announced_.
  Clock::time_point next_stay_end_ = Clock::time_point::max();
  bool changed_ = false;  // Since the last Run().
  size_t num_waiting_ = 0;
  uint64_t admissions_ = 0;
  uint64_t num_yielded_ = 0;
  uint64_t num_looks_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ADMISSION_H_
