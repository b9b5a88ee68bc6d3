// Keeps track of which chunks are in memory, and which of them must stay.
#ifndef PENSTOCK_RECORDS_ENGINE_CHUNK_STORE_H_
#define PENSTOCK_RECORDS_ENGINE_CHUNK_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "records/engine/chunk.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/listed_damage.h"
#include "records/engine/messages.h"

namespace penstock {

struct WindowState;

// One chunk in one layout.
struct ChunkEntry {
  enum class State { kQueued, kLoading, kResident, kFailed };

  ShardRef shard;
  ChunkRef ref;
  ListedDamage damage;
  // Shared by the entries and sessions that use this layout.
  std::shared_ptr<const ChunkLayout> layout;
  uint64_t bytes = 0;  // Bytes that count in the budget.
  // Bytes that loading the chunk reads; 0 if all its records are listed as damaged.
  uint32_t file_bytes = 0;
  State state = State::kQueued;
  uint32_t pins = 0;
  Chunk chunk;                        // Set when resident. Constant while pinned.
  std::vector<WindowState*> waiters;  // Windows that need it; empty once it is resident.
  // Neighbours in the list of resident chunks that are not pinned.
  ChunkEntry* older = nullptr;
  ChunkEntry* newer = nullptr;
};

struct ChunkStoreStats {
  uint64_t hits = 0;
  uint64_t evicted = 0;
};

// A table of chunks under a byte budget. A chunk that no window pins stays until its memory is
// needed; the chunk that was pinned least recently is evicted first. This class only does the
// bookkeeping: it reads no file and starts no thread.
// Not thread-safe: guarded by the scheduler's lock.
class ChunkStore {
 public:
  explicit ChunkStore(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  ~ChunkStore();

  // Returns the bytes that Pin() takes from the budget if none of the chunks is in the table.
  // Saturates.
  static uint64_t WindowBytes(const OpenWindow& window, const ChunkLayout& layout,
                              uint64_t table_bytes);

  // Returns the value that pinned_bytes() would have if a window and its `table_bytes` were pinned
  // too. Saturates.
  uint64_t PinnedWith(const OpenWindow& window, const ChunkLayout& layout,
                      uint64_t table_bytes) const;
  // Pins all chunks of a window and reserves `table_bytes` for it. Evicts chunks to make room. New
  // entries are kQueued.
  void Pin(const OpenWindow& window, const std::shared_ptr<const ChunkLayout>& layout,
           uint64_t table_bytes, std::vector<ChunkEntry*>& entries);
  // Takes memory for other things from the budget, and evicts chunks that nobody pins. This does
  // not reduce what Pin() may take, so pinned and held memory together may exceed the budget.
  void Hold(uint64_t bytes);
  // Gives back memory that Hold() took.
  void LetGo(uint64_t bytes);

  // Undoes Pin(). An entry that is neither resident nor loading is removed.
  void Unpin(std::span<ChunkEntry* const> entries, uint64_t table_bytes);

  // kLoading becomes kResident. An entry that nobody pins any more may be evicted here.
  void SetLoaded(ChunkEntry& entry, Chunk chunk);
  // kLoading becomes kFailed. The next Pin() creates a new entry; this one is removed with its last
  // pin.
  void SetFailed(ChunkEntry& entry);

  uint64_t budget_bytes() const { return budget_bytes_; }
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t pinned_bytes() const { return pinned_bytes_; }
  // Sum of all bytes by which Unpin() has reduced pinned_bytes().
  uint64_t unpinned_bytes() const { return unpinned_bytes_; }
  uint64_t held_bytes() const { return held_bytes_; }
  const ChunkStoreStats& stats() const { return stats_; }

 private:
  struct Key {
    std::string path;
    uint64_t file_size;
    uint64_t offset;
    uint32_t size, raw_size, records, holdout, crc32c;
    const ChunkLayout* layout;
    Container container;
    uint32_t label;
    ListedDamage damage;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  static Key MakeKey(const ShardRef& shard, const ChunkRef& chunk, const ChunkLayout* layout,
                     ListedDamage damage);
  static Key MakeKey(const ChunkEntry& entry);
  // Returns the entry for chunk i of the window, and adds it if there is none.
  ChunkEntry& FindOrAdd(const OpenWindow& window, uint32_t i,
                        const std::shared_ptr<const ChunkLayout>& layout);
  void EvictTo(uint64_t bytes);
  void Forget(ChunkEntry& entry);
  void LinkNewest(ChunkEntry& entry);
  void Unlink(ChunkEntry& entry);

  const uint64_t budget_bytes_;
  uint64_t total_bytes_ = 0;
  uint64_t pinned_bytes_ = 0;
  uint64_t unpinned_bytes_ = 0;
  uint64_t held_bytes_ = 0;
  std::unordered_map<Key, std::unique_ptr<ChunkEntry>, KeyHash> entries_;
  std::vector<std::unique_ptr<ChunkEntry>> failed_;  // Failed entries that are still pinned.
  ChunkEntry* oldest_ = nullptr;
  ChunkEntry* newest_ = nullptr;
  ChunkStoreStats stats_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_CHUNK_STORE_H_
