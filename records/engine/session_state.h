// The state of sessions, windows and requests in the scheduler. Plain data. All of it is guarded by
// the scheduler's lock, unless a comment says otherwise.
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
  // Returns the item that is needed first, or null if there is none. With `holds`, looks only at
  // items for which it is true.
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
  // Moves the items for which `holds` is true to `out`.
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
  uint64_t next_row = 0;  // Next row of the pattern to take. All rows before it are taken.
  uint32_t active = 0;    // Number of jobs that hold this request.
  bool ended = false;     // True if cancelled or answered. Reused after the last job.
  LoadError refusal;      // If not OK, the answer to the request.
  // True if it was refused while it had jobs, and the client must still be told.
  bool to_refuse = false;

  bool all_taken() const { return next_row == pattern.size(); }
  uint64_t waiting_bytes() const { return (pattern.size() - next_row) * decoding->row_bytes; }
};

struct WindowState {
  // A window waits for memory (kWaiting), loads its chunks (kLoading), orders its rows (kBuilding),
  // and is then kReady. kYielded: it gave up its memory until the next fetch. kFailed is permanent.
  enum class Phase { kWaiting, kLoading, kBuilding, kReady, kYielded, kFailed };

  SessionState* session = nullptr;
  OpenWindow definition;          // Constant.
  uint64_t bytes = 0;             // Memory of chunks and rows, in bytes.
  uint64_t table_bytes = 0;       // Memory of rows, in bytes.
  uint64_t definition_bytes = 0;  // Memory of the definition, in bytes; it counts in every phase.
  Phase phase = Phase::kWaiting;
  uint64_t needed_at = 0;
  uint64_t sequence = 0;
  std::vector<ChunkEntry*> chunks;  // The pinned chunks, in the order of the definition.
  size_t next_load = 0;             // Index in chunks; those before it are loading or resident.
  size_t missing = 0;               // Number of chunks that are not resident yet.
  // Constant while kReady. Shared by the same windows of all sessions.
  std::shared_ptr<const SharedWindow> shared;
  LoadError error;  // Set when kFailed, and then constant.
  uint64_t read_bytes = 0;
  bool announced = false;  // True once OnWindowReady() was called.
  bool in_use = false;     // True once rows were fetched from it.
  bool told = false;       // True once OnError() was called for kFailed.
  bool released = false;   // True once released. Deleted with the last job.
  uint32_t active = 0;     // Number of jobs that hold this window.
  uint32_t requests = 0;   // Number of requests that have not ended.
  std::chrono::steady_clock::time_point last_used;
  std::vector<RequestState*> pending;  // Requests that wait until it is kReady (again).
  // Used by the admission:
  bool queued = false;
  bool awaited = false;      // True if it is in use, has its memory, and is not ready.
  bool passed_over = false;  // True if it would have yielded, had no job held it.
  uint64_t fits_at = 0;      // It does not fit while ChunkStore::unpinned_bytes() is below this.
  std::list<WindowState*>* ready_in = nullptr;  // The list of ready windows that it is in, or null.
  std::list<WindowState*>::iterator ready_at;   // Its place in ready_in.
};

struct SessionState {
  SessionState(SessionEvents& session_events, std::shared_ptr<const Decodings> session_decodings)
      : events(session_events), decodings(std::move(session_decodings)) {}

  SessionEvents& events;
  // Shared with the chunks that use this layout.
  std::shared_ptr<const ChunkLayout> layout;
  // Shared by sessions with the same spec and by their windows.
  const std::shared_ptr<const Decodings> decodings;
  bool record_ids = false;    // Constant.
  bool knows_ids = false;     // Constant. True if its windows store record ids, for whatever use.
  bool checksums = false;     // Constant.
  bool decodes_rows = false;  // Constant. True if it gets rows, not parts.
  bool share_parts = true;    // True if parts may lie in memory that other sessions read too.
  PartPool::HomePtr home;     // Constant until the session ends.

  std::unordered_map<uint64_t, std::unique_ptr<WindowState>> windows;
  absl::flat_hash_map<uint64_t, RequestState*> requests;
  std::vector<std::unique_ptr<RequestState>> all_requests;
  std::vector<RequestState*> free_requests;
  NeededOrder<WindowState> window_work;  // Windows with chunks to load, rows to build, or an error.
  NeededOrder<RequestState> runnable;    // Requests with rows to decode.
  // Windows that wait for memory: waiting_used are in use, waiting_announced are only announced.
  NeededOrder<WindowState> waiting_used;
  NeededOrder<WindowState> waiting_announced;
  uint64_t in_use_bytes = 0;
  uint64_t waiting_bytes = 0;            // Bytes of requested rows that are not taken yet.
  uint64_t max_part_bytes = UINT64_MAX;  // Limit for its parts, beside the engine's limit.
  int64_t deficit = 0;                   // Bytes that it may take before the next session's turn.
  // Time that its images took, divided by what their headers let expect. A running average.
  double time_of_estimate = 1;
  // Used by the admission:
  uint64_t last_admission = 0;
  uint64_t ready_bytes = 0;  // Bytes of windows that are in use and ready.
  uint32_t num_awaited = 0;  // Number of its windows that are `awaited`.
  bool gathers = false;      // True if it took memory and not all its windows are ready yet.
  // Until this time, others may not take the memory of its windows in use.
  std::chrono::steady_clock::time_point keeps_until = {};
  // If not 0, some of its windows yielded although it had requested their rows, because it did not
  // read. They wait for memory again once a part of this size may be outstanding.
  size_t stalled_at_bytes = 0;
  uint32_t active = 0;  // Number of jobs that hold this session.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_SESSION_STATE_H_
