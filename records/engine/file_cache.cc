#include "records/engine/file_cache.h"

#include <utility>

#include "base/status.h"

namespace penstock {

std::shared_ptr<const FileSource> FileCache::Find(const std::string& path) {
  MutexLock lock(&mutex_);
  auto found = index_.find(path);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->source;
}

absl::StatusOr<std::shared_ptr<const FileSource>> FileCache::Open(const std::string& path) {
  if (auto source = Find(path)) return source;
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<const FileSource> source, OpenNew(path));
  MutexLock lock(&mutex_);
  auto [place, inserted] = index_.try_emplace(path);
  if (!inserted) return place->second->source;  // Another thread was faster.
  entries_.push_front({path, source});
  place->second = entries_.begin();
  if (entries_.size() > capacity_) DropOldest();
  return source;
}

absl::StatusOr<std::shared_ptr<const FileSource>> FileCache::OpenNew(const std::string& path) {
  while (true) {
    absl::StatusOr<std::shared_ptr<const FileSource>> source = root_.OpenFile(path);
    if (!absl::IsResourceExhausted(source.status()) || !DropOlderHalf()) return source;
  }
}

bool FileCache::DropOlderHalf() {
  MutexLock lock(&mutex_);
  if (entries_.empty()) return false;
  for (size_t kept = entries_.size() / 2; entries_.size() > kept;) DropOldest();
  return true;
}

void FileCache::DropOldest() {
  index_.erase(entries_.back().path);
  entries_.pop_back();
}

void FileCache::Drop(const std::string& path) {
  MutexLock lock(&mutex_);
  auto found = index_.find(path);
  if (found == index_.end()) return;
  entries_.erase(found->second);
  index_.erase(found);
}

}  // namespace penstock
