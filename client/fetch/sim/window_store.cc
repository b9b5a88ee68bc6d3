#include "client/fetch/sim/window_store.h"

namespace penstock::sim {

void WindowStore::Open(WindowId id, uint32_t rows, uint64_t needed_at,
                       std::function<void()> ready) {
  Entry& entry = entries_[id];
  if (entry.loaded) {
    if (entry.pins++ == 0) idle_.erase(entry.idle);
    return ready();
  }
  ++entry.pins;
  entry.waiting.push_back(std::move(ready));
  if (entry.loading) return;
  if (entry.pins > 1) {
    if (needed_at >= entry.needed_at) return;
    queue_.erase({entry.needed_at, id});
  }
  entry.rows = rows;
  entry.needed_at = needed_at;
  queue_.insert({needed_at, id});
  LoadNext();
}

void WindowStore::Close(WindowId id) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || --at->second.pins > 0 || at->second.loading) return;
  if (at->second.loaded) return Idle(id, at->second);
  queue_.erase({at->second.needed_at, id});
  entries_.erase(at);
}

void WindowStore::LoadNext() {
  while (loading_ < options_.parallel_loads && !queue_.empty()) {
    const WindowId id = queue_.begin()->second;
    queue_.erase(queue_.begin());
    Entry& entry = entries_[id];
    entry.loading = true;
    ++loading_;
    note_(id, entry.rows);
    timer_(options_.seek + absl::Seconds(entry.rows / options_.rows_per_second),
           [this, id] { Loaded(id); });
  }
}

void WindowStore::Loaded(WindowId id) {
  Entry& entry = entries_[id];
  entry.loading = false;
  entry.loaded = true;
  --loading_;
  for (auto& ready : std::exchange(entry.waiting, {})) ready();
  if (entry.pins == 0) Idle(id, entry);
  LoadNext();
}

void WindowStore::Idle(WindowId id, Entry& entry) {
  entry.idle = idle_.insert(idle_.end(), id);
  if (idle_.size() <= options_.idle_windows) return;
  entries_.erase(idle_.front());
  idle_.pop_front();
}

}  // namespace penstock::sim
