#include "records/engine/chunk_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/hash/hash.h"

namespace penstock {
namespace {

// Memory of the table, the entry and its allocations.
constexpr uint64_t kEntryOverhead = 512;

uint64_t AddSaturated(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

uint64_t EntryBytes(const ShardRef& shard, const ChunkRef& chunk, const ChunkLayout& layout) {
  return PageMemory::Capacity(layout.ChunkBytes(chunk.records, chunk.raw_size)) + kEntryOverhead +
         2 * shard.path.size();
}

}  // namespace

ChunkStore::~ChunkStore() = default;

size_t ChunkStore::KeyHash::operator()(const Key& key) const {
  return absl::HashOf(key.path, key.offset, key.crc32c, key.layout);
}

ChunkStore::Key ChunkStore::MakeKey(const ShardRef& shard, const ChunkRef& chunk,
                                    const ChunkLayout* layout, ListedDamage damage) {
  return {shard.path,     shard.size,      chunk.offset,  chunk.size,
          chunk.raw_size, chunk.records,   chunk.holdout, chunk.crc32c,
          layout,         shard.container, shard.label,   std::move(damage)};
}

ChunkStore::Key ChunkStore::MakeKey(const ChunkEntry& entry) {
  return MakeKey(entry.shard, entry.ref, entry.layout.get(), entry.damage);
}

uint64_t ChunkStore::WindowBytes(const OpenWindow& window, const ChunkLayout& layout,
                                 uint64_t table_bytes) {
  uint64_t bytes = table_bytes;
  for (const ChunkRef& chunk : window.chunks) {
    bytes = AddSaturated(bytes, EntryBytes(window.shards[chunk.shard], chunk, layout));
  }
  return bytes;
}

uint64_t ChunkStore::PinnedWith(const OpenWindow& window, const ChunkLayout& layout,
                                uint64_t table_bytes) const {
  uint64_t bytes = AddSaturated(pinned_bytes_, table_bytes);
  for (uint32_t i = 0; i < window.chunks.size(); ++i) {
    const ChunkRef& chunk = window.chunks[i];
    const ShardRef& shard = window.shards[chunk.shard];
    auto found = entries_.find(MakeKey(shard, chunk, &layout, DamageOf(window, i)));
    if (found != entries_.end() && found->second->pins > 0) continue;
    bytes = AddSaturated(bytes, EntryBytes(shard, chunk, layout));
  }
  return bytes;
}

ChunkEntry& ChunkStore::FindOrAdd(const OpenWindow& window, uint32_t i,
                                  const std::shared_ptr<const ChunkLayout>& layout) {
  const ChunkRef& chunk = window.chunks[i];
  const ShardRef& shard = window.shards[chunk.shard];
  ListedDamage damage = DamageOf(window, i);
  std::unique_ptr<ChunkEntry>& entry = entries_[MakeKey(shard, chunk, layout.get(), damage)];
  if (entry == nullptr) {
    entry = std::make_unique<ChunkEntry>();
    entry->shard = shard;
    entry->ref = chunk;
    entry->layout = layout;
    entry->bytes = EntryBytes(shard, chunk, *layout);
    entry->file_bytes = damage.Count(chunk.records) < chunk.records ? chunk.size : 0;
    entry->damage = std::move(damage);
    total_bytes_ += entry->bytes;
  } else if (entry->state == ChunkEntry::State::kResident) {
    ++stats_.hits;
  }
  return *entry;
}

void ChunkStore::Pin(const OpenWindow& window, const std::shared_ptr<const ChunkLayout>& layout,
                     uint64_t table_bytes, std::vector<ChunkEntry*>& entries) {
  for (uint32_t i = 0; i < window.chunks.size(); ++i) {
    ChunkEntry& entry = FindOrAdd(window, i, layout);
    if (entry.pins++ == 0) {
      pinned_bytes_ += entry.bytes;
      if (entry.state == ChunkEntry::State::kResident) Unlink(entry);
    }
    entries.push_back(&entry);
  }
  pinned_bytes_ += table_bytes;
  total_bytes_ += table_bytes;
  EvictTo(budget_bytes_);
}

void ChunkStore::Hold(uint64_t bytes) {
  held_bytes_ += bytes;
  total_bytes_ += bytes;
  EvictTo(budget_bytes_);
}

void ChunkStore::LetGo(uint64_t bytes) {
  held_bytes_ -= bytes;
  total_bytes_ -= bytes;
}

void ChunkStore::Unpin(std::span<ChunkEntry* const> entries, uint64_t table_bytes) {
  pinned_bytes_ -= table_bytes;
  unpinned_bytes_ += table_bytes;
  total_bytes_ -= table_bytes;
  for (ChunkEntry* entry : entries) {
    if (--entry->pins > 0) continue;
    pinned_bytes_ -= entry->bytes;
    unpinned_bytes_ += entry->bytes;
    if (entry->state == ChunkEntry::State::kResident) {
      LinkNewest(*entry);
    } else if (entry->state != ChunkEntry::State::kLoading) {
      Forget(*entry);
    }
  }
}

void ChunkStore::SetLoaded(ChunkEntry& entry, Chunk chunk) {
  entry.chunk = std::move(chunk);
  entry.state = ChunkEntry::State::kResident;
  if (entry.pins > 0) return;
  LinkNewest(entry);
  EvictTo(budget_bytes_);  // Loading entries cannot be evicted, so there may be too much by now.
}

void ChunkStore::SetFailed(ChunkEntry& entry) {
  entry.state = ChunkEntry::State::kFailed;
  if (entry.pins == 0) return Forget(entry);
  auto found = entries_.find(MakeKey(entry));
  failed_.push_back(std::move(found->second));
  entries_.erase(found);
}

void ChunkStore::EvictTo(uint64_t bytes) {
  while (total_bytes_ > bytes && oldest_ != nullptr) {
    ChunkEntry& entry = *oldest_;
    Unlink(entry);
    Forget(entry);
    ++stats_.evicted;
  }
}

void ChunkStore::Forget(ChunkEntry& entry) {
  total_bytes_ -= entry.bytes;
  if (entry.state == ChunkEntry::State::kFailed) {
    const size_t erased = std::erase_if(
        failed_,
        [&entry](const std::unique_ptr<ChunkEntry>& other) { return other.get() == &entry; });
    if (erased > 0) return;
  }
  entries_.erase(MakeKey(entry));
}

void ChunkStore::LinkNewest(ChunkEntry& entry) {
  entry.older = newest_;
  entry.newer = nullptr;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
}

void ChunkStore::Unlink(ChunkEntry& entry) {
  (entry.older != nullptr ? entry.older->newer : oldest_) = entry.newer;
  (entry.newer != nullptr ? entry.newer->older : newest_) = entry.older;
  entry.older = entry.newer = nullptr;
}

}  // namespace penstock
