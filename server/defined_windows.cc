#include "server/defined_windows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::Status DefinedWindows::Add(uint64_t window, uint64_t bytes, absl::Status refused) {
  MarkFailed();
  // The number of a failed window may be used again.
  const auto before = windows_.find(window);
  if (before != windows_.end() && before->second.failed) Forget(before);
  PENSTOCK_RETURN_IF_ERROR(pass_.AddDefinition(bytes));
  auto [entry, is_new] = windows_.try_emplace(window);
  Definition& definition = entry->second;
  definition.bytes += bytes;
  // If both are OK, the session knows whether the number may be used again.
  if (!is_new && refused.ok() != definition.refused.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("window ", window, " is open already"));
  }
  definition.refused = std::move(refused);
  for (auto it = windows_.begin(); it != windows_.end() && windows_.size() > kMost;) {
    it = it->second.failed ? Forget(it) : std::next(it);
  }
  if (definition.refused.ok() || windows_.size() <= kMost) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(windows_.size(), " windows are open; the limit is ", kMost));
}

absl::Status DefinedWindows::Refusal(uint64_t window) const {
  const auto found = windows_.find(window);
  return found == windows_.end() ? absl::OkStatus() : found->second.refused;
}

bool DefinedWindows::Remove(uint64_t window) {
  const auto found = windows_.find(window);
  if (found == windows_.end()) return true;
  const bool known_to_session = found->second.refused.ok();
  Forget(found);
  return known_to_session;
}

void DefinedWindows::OnFailed(uint64_t window) {
  MutexLock lock(&mutex_);
  failed_.push_back(window);
}

void DefinedWindows::MarkFailed() {
  std::vector<uint64_t> failed;
  {
    MutexLock lock(&mutex_);
    failed.swap(failed_);
  }
  for (const uint64_t window : failed) {
    if (const auto found = windows_.find(window); found != windows_.end()) {
      found->second.failed = true;
    }
  }
}

DefinedWindows::Windows::iterator DefinedWindows::Forget(Windows::iterator window) {
  pass_.RemoveDefinition(window->second.bytes);
  return windows_.erase(window);
}

}  // namespace penstock
