#include "records/engine/shared_window.h"

#include <algorithm>
#include <utility>

#include "records/engine/session_state.h"

namespace penstock {
namespace {

template <typename T>
void AppendBytes(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Jobs with different keys share windows unless their pixels differ.
uint64_t AugmentationKey(const WindowState& window) {
  const bool matters = window.session->decodings->images().random;
  return matters ? window.definition.augmentation_key : 0;
}

}  // namespace

// The key contains the addresses of pinned chunks. While a window is open, nothing else can have
// them.
std::string SharedWindows::KeyOf(const WindowState& window) {
  std::string key;
  AppendBytes(key, window.session->decodings.get());
  AppendBytes(key, window.definition.split);
  AppendBytes(key, window.definition.shuffle);
  AppendBytes(key, window.definition.key);
  AppendBytes(key, window.definition.has_spare);
  AppendBytes(key, AugmentationKey(window));
  for (size_t i = 0; i < window.chunks.size(); ++i) {
    AppendBytes(key, window.chunks[i]);
    AppendBytes(key, window.definition.chunks[i].ordinal);
  }
  return key;
}

std::shared_ptr<const SharedWindow> SharedWindows::Find(const WindowState& window) const {
  auto found = windows_.find(KeyOf(window));
  return found != windows_.end() ? found->second.lock() : nullptr;
}

std::shared_ptr<const SharedWindow> SharedWindows::Add(const WindowState& window, WindowRows rows) {
  if (windows_.size() >= sweep_at_) {
    absl::erase_if(windows_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * windows_.size() + 64;
  }
  std::weak_ptr<const SharedWindow>& known = windows_[KeyOf(window)];
  if (auto shared = known.lock()) return shared;
  auto added = std::make_shared<SharedWindow>();
  added->rows = std::move(rows);
  added->id = ++last_id_;
  added->augmentation_key = AugmentationKey(window);
  added->decodings = window.session->decodings;
  known = added;
  return added;
}

void SharedWindows::Join(WindowState& window, std::shared_ptr<const SharedWindow> shared) {
  window.shared = std::move(shared);
  if (window.session->share_parts) window.shared->readers.push_back(&window);
}

void SharedWindows::StopSharing(WindowState& window) {
  if (window.shared != nullptr) std::erase(window.shared->readers, &window);
}

void SharedWindows::Leave(WindowState& window) {
  StopSharing(window);
  window.shared = nullptr;
}

}  // namespace penstock
