// Caches decoded rows that are sent to several sessions.
#ifndef PENSTOCK_RECORDS_ENGINE_STRIP_CACHE_H_
#define PENSTOCK_RECORDS_ENGINE_STRIP_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "records/engine/chunk_damage.h"
#include "records/engine/job.h"
#include "records/engine/part_pool.h"

namespace penstock {

// The result of decoding a block.
struct BlockResult {
  LoadError error;  // If not OK, the rows cannot be decoded.
  // Both lists are by row of the block.
  std::vector<ReplacedRow> replaced;
  std::vector<ImageNote> image_notes;
};

// Jobs on the same plan request the same rows, with other boundaries if their ranks differ. So if
// several sessions have the same window open, its rows are decoded once, in blocks at multiples of
// Decoding::block_rows in the window. Each part lends the pieces of a block that its request needs;
// nothing is copied.
//
// A block stays until it was sent as often as the blocks before it. Under a byte budget, the least
// recently used block is dropped earlier if its memory is needed. The budget does not count blocks
// in use, at most one for each thread, or blocks with outstanding parts, which count as parts.
//
//   switch (cache.Claim(key, jobs, memory, result)) {
//     case kWaiting:  another thread decodes it, and gets `jobs` from Publish(); return
//     case kDecode:   fill `memory`; cache.Publish(key, jobs, result)
//     case kReady:    break
//   }
//   send parts of `memory`; cache.Release(key, rows)
//
// Thread-safe.
class StripCache {
 public:
  struct Key {
    uint64_t window = 0;  // SharedWindow::id.
    const Decoding* decoding = nullptr;
    uint32_t block = 0;

    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.window, key.decoding, key.block);
    }
  };
  enum class Answer { kDecode, kReady, kWaiting };

  // `pool` must outlive the cache.
  StripCache(PartPool& pool, size_t budget_bytes) : pool_(pool), budget_bytes_(budget_bytes) {}
  ~StripCache();

  // Returns `memory` for the block of `jobs`, unless the answer is kWaiting. It stays valid until
  // Release(). With kReady, `result` is what was published. REQUIRES: `jobs` is not empty.
  Answer Claim(const Key& key, std::span<const Job> jobs, std::span<uint8_t>& memory,
               BlockResult& result);
  // Call it after kDecode, when the memory is filled, or result.error says why it cannot be. Adds
  // the jobs that wait for the block to `jobs`.
  void Publish(const Key& key, std::vector<Job>& jobs, const BlockResult& result);
  // Call it when `rows` rows of the block were sent.
  void Release(const Key& key, uint64_t rows);

  size_t bytes() const;

 private:
  struct Block {
    Key key;
    std::span<uint8_t> memory;
    bool ready = false;
    BlockResult result;
    uint32_t users = 0;  // Number of threads that decode or send it.
    uint32_t rows = 0;
    uint64_t rows_sent = 0;         // Number of rows sent under this key.
    std::shared_ptr<StripUse> use;  // Shared with the decoding, which may go first.
    std::vector<Job> waiting;

    double times_sent() const { return static_cast<double>(rows_sent) / rows; }
    bool done() const { return users == 0 && use->Suffices(times_sent()); }
  };
  using Blocks = std::list<Block>;
  static constexpr size_t kMaxDropped = 4096;

  // Drops blocks until `more` bytes fit, if possible.
  void MakeRoom(size_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Blocks::iterator Drop(Blocks::iterator block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  PartPool& pool_;
  const size_t budget_bytes_;
  mutable Mutex mutex_;
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);  // Most recently used first.
  absl::flat_hash_map<Key, Blocks::iterator> index_ ABSL_GUARDED_BY(mutex_);
  // Number of rows sent from some of the blocks that were dropped. Cleared now and then.
  absl::flat_hash_map<Key, uint64_t> dropped_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_STRIP_CACHE_H_
