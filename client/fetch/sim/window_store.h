// The windows that a simulated server has read, is reading, or will read.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_WINDOW_STORE_H_
#define PENSTOCK_CLIENT_FETCH_SIM_WINDOW_STORE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/plan/epoch_order.h"

namespace penstock::sim {

struct StoreOptions {
  uint32_t parallel_loads = 4;
  absl::Duration seek = absl::Milliseconds(1);  // Fixed time of each load.
  double rows_per_second = 1e6;                 // Speed of one load.
  uint32_t idle_windows = 64;                   // Windows kept in addition to the open ones.
};

// A load that was started.
struct LoadRecord {
  absl::Time at;
  WindowId window;
  uint32_t rows = 0;
  uint32_t server = 0;
};

// Reads each window once for all sessions that have it open, earliest needed first. Keeps it while
// a session has it open, and for a while afterwards. Not thread-safe.
class WindowStore {
 public:
  using Timer = std::function<void(absl::Duration, std::function<void()>)>;
  using Note = std::function<void(WindowId, uint32_t rows)>;

  // `timer` runs an action later; `note` is told of each load. Whatever they refer to must outlive
  // the store.
  WindowStore(const StoreOptions& options, Timer timer, Note note)
      : options_(options), timer_(std::move(timer)), note_(std::move(note)) {}

  // Calls `ready` when the window is loaded, perhaps at once.
  void Open(WindowId id, uint32_t rows, uint64_t needed_at, std::function<void()> ready);
  // Undoes one Open().
  void Close(WindowId id);

 private:
  struct Entry {
    uint32_t rows = 0;
    uint64_t needed_at = 0;
    uint32_t pins = 0;
    bool loading = false;
    bool loaded = false;
    std::vector<std::function<void()>> waiting;
    std::list<WindowId>::iterator idle;  // Valid if pins is 0 and the window is loaded.
  };

  void LoadNext();
  void Loaded(WindowId id);
  void Idle(WindowId id, Entry& entry);

  const StoreOptions options_;
  const Timer timer_;
  const Note note_;
  std::map<WindowId, Entry> entries_;
  std::set<std::pair<uint64_t, WindowId>> queue_;
  std::list<WindowId> idle_;  // The most recently used one is last.
  uint32_t loading_ = 0;
};

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_WINDOW_STORE_H_
