// Decoded rows that several sessions are sent.
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

// The outcome of decoding a block.
struct BlockResult {
  LoadError error;  // Not OK: its rows cannot be decoded.
  // Both by row of the block.
  std::vector<ReplacedRow> replaced;
  std::vector<ImageNote> image_notes;
};

// Jobs on the same plan ask for the same rows, at other boundaries where their ranks differ. Where
// several sessions have the same window open, its rows are therefore decoded in blocks that lie at
// multiples of Decoding::block_rows in the window, once, and each part lends the pieces of a block
// that its request asks for: nothing is copied. Blocks stay until they were sent as often as those
// before them, or, under a byte budget, the least recently used one's memory is needed. Beside the
// budget are those in use, at most one a thread, and those that parts outside lie in, which count
// as such.
//
//   switch (cache.Claim(key, jobs, memory)) {
//     case kWaiting:  another thread is decoding it and gets `jobs` from Publish(); return
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

  // `pool` must outlive it.
  StripCache(PartPool& pool, size_t budget_bytes) : pool_(pool), budget_bytes_(budget_bytes) {}
  ~StripCache();

  // `memory` for the block of `jobs`, unless kWaiting; it stays until Release(). With kReady
  // `result` is what was published. REQUIRES: not empty.
  Answer Claim(const Key& key, std::span<const Job> jobs, std::span<uint8_t>& memory,
               BlockResult& result);
  // What kDecode asked for is there, or result.error is why it cannot be. Adds the jobs that wait
  // for it to `jobs`.
  void Publish(const Key& key, std::vector<Job>& jobs, const BlockResult& result);
  // `rows` were sent.
  void Release(const Key& key, uint64_t rows);

  size_t bytes() const;

 private:
  struct Block {
    Key key;
    std::span<uint8_t> memory;
    bool ready = false;
    BlockResult result;
    uint32_t users = 0;  // Threads that decode or send it.
    uint32_t rows = 0;
    uint64_t rows_sent = 0;         // In all, under this key.
    std::shared_ptr<StripUse> use;  // Shared with the decoding, which may be gone.
    std::vector<Job> waiting;

    double times_sent() const { return static_cast<double>(rows_sent) / rows; }
    bool done() const { return users == 0 && use->Suffices(times_sent()); }
  };
  using Blocks = std::list<Block>;
  static constexpr size_t kMaxDropped = 4096;

  // Until `more` bytes fit, if that can be.
  void MakeRoom(size_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Blocks::iterator Drop(Blocks::iterator block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  PartPool& pool_;
  const size_t budget_bytes_;
  mutable Mutex mutex_;
  Blocks blocks_ ABSL_GUARDED_BY(mutex_);  // Most recently used first.
  absl::flat_hash_map<Key, Blocks::iterator> index_ ABSL_GUARDED_BY(mutex_);
  // Rows sent of blocks that were dropped: some, and not for ever.
  absl::flat_hash_map<Key, uint64_t> dropped_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_STRIP_CACHE_H_
