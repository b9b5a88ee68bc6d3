// What the scheduler knows about sessions, windows and requests. Plain data. All of it is guarded
// by the scheduler's lock, unless a comment says otherwise.
#ifndef PENSTOCK_RECORDS_ENGINE_SESSION_STATE_H_
#define PENSTOCK_RECORDS_ENGINE_SESSION_STATE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "records/engine/chunk_damage.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/chunk_store.h"
#include "records/engine/decoding.h"
#include "records/engine/messages.h"
#include "records/engine/part_pool.h"
#include "records/engine/piece.h"
#include "records/engine/session.h"
#include "records/engine/shared_window.h"

namespace penstock {

// Pointers in ascending order of (needed_at, sequence). It is a sorted vector, because a session
// has tens of entries, mostly appended. Once it has grown, it allocates nothing.
template <typename T>
class NeededOrder {
 public:
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  // The item that is needed first, or the first for which `holds`; null if there is none.
  T* first() const { return items_.empty() ? nullptr : items_.back(); }
  template <typename Holds>
  T* first(const Holds& holds) const {
    const auto found = std::find_if(items_.rbegin(), items_.rend(),
                                    [&holds](const T* item) { return holds(*item); });
    return found == items_.rend() ? nullptr : *found;
  }
  void PopFront() { items_.pop_back(); }
  void Insert(T* item) {
    items_.insert(std::lower_bound(items_.begin(), items_.end(), item, Later), item);
  }
  void Remove(const T* item) { std::erase(items_, item); }
  // Moves the items for which `holds` to `out`.
  template <typename Holds>
  void MoveTo(std::vector<T*>& out, const Holds& holds) {
    std::erase_if(items_, [&](T* item) {
      if (!holds(*item)) return false;
      out.push_back(item);
      return true;
    });
  }

 private:
  static bool Later(const T* a, const T* b) {
    return a->needed_at != b->needed_at ? a->needed_at > b->needed_at : a->sequence > b->sequence;
  }
  std::vector<T*> items_;  // Latest first.
};

struct SessionState;
struct WindowState;

struct RequestState {
  uint64_t number = 0;
  WindowState* window = nullptr;
  RowPattern pattern;
  const Decoding* decoding = nullptr;
  uint64_t needed_at = 0;
  uint64_t sequence = 0;
  uint64_t next_row = 0;   // Row of the pattern. All rows before it are taken.
  uint32_t active = 0;     // Jobs that hold this request.
  bool ended = false;      // Cancelled or answered. Reused after the last job.
  LoadError refusal;       // Not OK: the answer to the request.
  bool to_refuse = false;  // It was refused while it had jobs, and must still be told.

  bool all_taken() const { return next_row == pattern.size(); }
  uint64_t waiting_bytes() const { return (pattern.size() - next_row) * decoding->row_bytes; }
};

struct WindowState {
  // kWaiting for memory; kLoading chunks; kBuilding rows; kReady; kYielded its memory until the
  // next fetch; kFailed permanently.
  enum class Phase { kWaiting, kLoading, kBuilding, kReady, kYielded, kFailed };

  SessionState* session = nullptr;
  OpenWindow definition;          // Constant.
  uint64_t bytes = 0;             // Memory of chunks and rows.
  uint64_t table_bytes = 0;       // Memory of rows.
  uint64_t definition_bytes = 0;  // Counted while the window is open, in any phase.
  Phase phase = Phase::kWaiting;
  uint64_t needed_at = 0;
  uint64_t sequence = 0;
  std::vector<ChunkEntry*> chunks;  // Pinned, in the order of the definition.
  size_t next_load = 0;             // Chunks before it are loading or resident.
  size_t missing = 0;               // Chunks that are not resident yet.
  // Constant while kReady. Shared by the same windows of all sessions.
  std::shared_ptr<const SharedWindow> shared;
  LoadError error;  // Set when kFailed, and then constant.
  uint64_t read_bytes = 0;
  bool announced = false;  // OnWindowReady() was called.
  bool in_use = false;     // It was fetched from.
  bool told = false;       // OnError() was called, when kFailed.
  bool released = false;   // Deleted with the last job.
  uint32_t active = 0;     // Jobs that hold this window.
  uint32_t requests = 0;   // Requests that have not ended.
  std::chrono::steady_clock::time_point last_used;
  std::vector<RequestState*> pending;  // Wait until it is kReady, also after it yielded.
  // Used by the admission:
  bool queued = false;
  bool awaited = false;      // In use, has its memory, and is not ready.
  bool passed_over = false;  // It would have yielded if a job did not hold it.
  uint64_t fits_at = 0;      // Does not fit while ChunkStore::unpinned_bytes() is below this.
  std::list<WindowState*>* ready_in = nullptr;  // Null: it is not ready.
  std::list<WindowState*>::iterator ready_at;   // Its place there.
};

struct SessionState {
  SessionState(SessionEvents& session_events, std::shared_ptr<const Decodings> session_decodings)
      : events(session_events), decodings(std::move(session_decodings)) {}

  SessionEvents& events;
  // Shared with the chunks that use it.
  std::shared_ptr<const ChunkLayout> layout;
  // Shared by sessions with the same spec and by their windows.
  const std::shared_ptr<const Decodings> decodings;
  bool record_ids = false;    // Constant.
  bool knows_ids = false;     // Constant. Its windows store record ids, whoever needs them.
  bool checksums = false;     // Constant.
  bool decodes_rows = false;  // Constant. It gets rows, not parts.
  bool share_parts = true;    // Parts may lie in memory that other sessions read too.
  PartPool::HomePtr home;     // Constant until the session ends.

  std::unordered_map<uint64_t, std::unique_ptr<WindowState>> windows;
  absl::flat_hash_map<uint64_t, RequestState*> requests;
  std::vector<std::unique_ptr<RequestState>> all_requests;
  std::vector<RequestState*> free_requests;
  NeededOrder<WindowState> window_work;  // With chunks to load, rows to build, an error to tell.
  NeededOrder<RequestState> runnable;    // Requests with rows to decode.
  // Windows that wait for memory: those in use, and those that are only announced.
  NeededOrder<WindowState> waiting_used;
  NeededOrder<WindowState> waiting_announced;
  uint64_t in_use_bytes = 0;
  uint64_t waiting_bytes = 0;            // Bytes of rows of `requests` that are not taken.
  uint64_t max_part_bytes = UINT64_MAX;  // In addition to the engine's limit.
  int64_t deficit = 0;                   // Bytes that it may take before the next session's turn.
  // Used by the admission:
  uint64_t last_admission = 0;
  uint64_t ready_bytes = 0;  // Bytes of windows that are in use and ready.
  uint32_t num_awaited = 0;  // Number of windows.
  bool gathers = false;      // It took memory from others, and not all its windows are ready yet.
  // Until then, others may not take the memory of its windows in use.
  std::chrono::steady_clock::time_point keeps_until = {};
  // Not 0: some of its windows yielded although it had requested their rows, because it did not
  // read. They wait for memory again once a part of this size may be outstanding.
  size_t stalled_at_bytes = 0;
  uint32_t active = 0;  // Jobs that hold this session.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_SESSION_STATE_H_
