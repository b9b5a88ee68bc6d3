// The rows of a window, shared by the sessions that have the same window open.
#ifndef PENSTOCK_RECORDS_ENGINE_SHARED_WINDOW_H_
#define PENSTOCK_RECORDS_ENGINE_SHARED_WINDOW_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "records/engine/decoding.h"
#include "records/engine/window_rows.h"

namespace penstock {

struct WindowState;

// Immutable except for `readers` and `undecodable`. Owned by the windows that read it, over all
// sessions. These windows pin its chunks.
struct SharedWindow {
  WindowRows rows;
  uint64_t id = 0;  // Unique; no later window gets the same id.
  uint64_t augmentation_key = 0;
  // The decodings of the sessions that read it, shared with them.
  std::shared_ptr<const Decodings> decodings;
  // The windows that read it, if their sessions share parts. Guarded by the scheduler's lock.
  mutable std::vector<WindowState*> readers;
  // True if none of its rows can be decoded. The spare's rows are then tried at once.
  mutable std::atomic<bool> undecodable = false;
};

// Open windows by their content. Not thread-safe: guarded by the scheduler's lock.
class SharedWindows {
 public:
  // Returns the rows of `window` if another session has built them, else null. REQUIRES: its chunks
  // are pinned.
  std::shared_ptr<const SharedWindow> Find(const WindowState& window) const;
  // Adds `rows` for `window`, unless another thread has added its rows meanwhile. Returns the rows
  // that are in the table.
  std::shared_ptr<const SharedWindow> Add(const WindowState& window, WindowRows rows);

  // Makes `window` a reader of `shared` until Leave().
  static void Join(WindowState& window, std::shared_ptr<const SharedWindow> shared);
  static void Leave(WindowState& window);
  // From this call on, the parts of `window` are not shared with other sessions.
  static void StopSharing(WindowState& window);

 private:
  // Returns a key that is equal for windows whose rows are the same bytes in the same memory.
  static std::string KeyOf(const WindowState& window);

  absl::flat_hash_map<std::string, std::weak_ptr<const SharedWindow>> windows_;
  size_t sweep_at_ = 64;
  uint64_t last_id_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_SHARED_WINDOW_H_
