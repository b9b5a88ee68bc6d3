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

// Immutable but for `readers` and `undecodable`. Owned by the windows of the sessions that have it
// open, which pin its chunks.
struct SharedWindow {
  WindowRows rows;
  uint64_t id = 0;  // Never used again.
  uint64_t augmentation_key = 0;
  // What its sessions decode with; shared with them.
  std::shared_ptr<const Decodings> decodings;
  // The windows that it stands for, of sessions that share parts. Guarded by the scheduler's lock.
  mutable std::vector<WindowState*> readers;
  // None of its rows can be decoded: the spare's are tried at once.
  mutable std::atomic<bool> undecodable = false;
};

// Windows that are open, by what they are made of. Not thread-safe: the scheduler's lock guards it.
class SharedWindows {
 public:
  // The rows of `window`, if another session has built them. REQUIRES: its chunks are pinned.
  std::shared_ptr<const SharedWindow> Find(const WindowState& window) const;
  // `rows` of `window`, or what was found in the meantime.
  std::shared_ptr<const SharedWindow> Add(const WindowState& window, WindowRows rows);

  // From now on `window` reads `shared`, until Leave().
  static void Join(WindowState& window, std::shared_ptr<const SharedWindow> shared);
  static void Leave(WindowState& window);
  // The window's rows are its session's alone from now on.
  static void StopSharing(WindowState& window);

 private:
  // Equal for windows whose rows are the same bytes in the same memory.
  static std::string KeyOf(const WindowState& window);

  absl::flat_hash_map<std::string, std::weak_ptr<const SharedWindow>> windows_;
  size_t sweep_at_ = 64;
  uint64_t last_id_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_SHARED_WINDOW_H_
