// Which windows get memory, and which give theirs up.
#ifndef PENSTOCK_RECORDS_ENGINE_ADMISSION_H_
#define PENSTOCK_RECORDS_ENGINE_ADMISSION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "records/engine/chunk_store.h"
#include "records/engine/session_state.h"

namespace penstock {

// A window takes the memory of all its chunks at once, so windows never wait for one another with
// half of their chunks pinned. Windows that were fetched from come first, then sessions in turn,
// each with its earliest needed window. To make room for a window that was fetched from, windows
// that were only announced give up theirs, and so does any window that was not read for
// `idle_pin`: its chunks are loaded again at the next fetch.
// Definitions count from the first word on: for them chunks go that nobody pins, and windows that
// are only announced wait.
//
// Not thread-safe: the scheduler's lock guards it.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  Admission(uint64_t budget_bytes, Clock::duration idle_pin)
      : store_(budget_bytes), idle_pin_(idle_pin) {}

  // Memory of a window with all its chunks; saturates.
  static uint64_t WindowBytes(const WindowState& window) {
    return ChunkStore::WindowBytes(window.definition, *window.session->layout, window.table_bytes);
  }

  // kWaiting until Run() admits it.
  void Enqueue(WindowState& window);
  // Takes the window out of the queue, or its memory from it. REQUIRES: no job holds it.
  void Withdraw(WindowState& window);

  // Admits what fits: such windows are then kLoading or kBuilding, and work of their sessions.
  void Run(std::span<SessionState* const> sessions, Clock::time_point now);

  bool anyone_waits() const { return !waiting_.empty(); }
  // When Run() may find more room although nothing happened.
  Clock::time_point next_yield() const { return next_yield_; }

  ChunkStore& store() { return store_; }
  const ChunkStore& store() const { return store_; }
  size_t num_waiting() const { return waiting_.size(); }
  uint64_t num_yielded() const { return num_yielded_; }

 private:
  WindowState* BestUntried() const;
  uint64_t RoomFor(const WindowState& window) const;
  bool TryAdmit(WindowState& window);
  // Yields windows for which `may_yield` holds until `window` fits.
  template <typename MayYield>
  bool AdmitByYielding(WindowState& window, std::span<SessionState* const> sessions,
                       const MayYield& may_yield);
  void Unpin(WindowState& window);
  void FindNextYield(std::span<SessionState* const> sessions);

  ChunkStore store_;
  const Clock::duration idle_pin_;
  std::vector<WindowState*> waiting_;
  uint64_t round_ = 0;
  uint64_t admissions_ = 0;
  uint64_t num_yielded_ = 0;
  Clock::time_point next_yield_ = Clock::time_point::max();
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ADMISSION_H_
