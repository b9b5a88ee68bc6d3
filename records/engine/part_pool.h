// Memory for parts, reused so that it stays in the processor's cache.
#ifndef PENSTOCK_RECORDS_ENGINE_PART_POOL_H_
#define PENSTOCK_RECORDS_ENGINE_PART_POOL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "records/engine/page_memory.h"
#include "records/engine/part_buffer.h"

namespace penstock {

// Counts the bytes of memory that outstanding parts lie in, over all sessions. Also knows whether
// somebody waits until this number shrinks or a part of a session returns. It can be read without a
// lock. Every return subtracts, even if it subtracts 0 because other parts still lie in the memory.
//
// A waiter holds the lock under which it will sleep, calls Await(), and reads bytes() again. A
// thread that subtracts, and learns that the ledger is awaited, takes that lock and wakes the
// waiter. All accesses are sequentially consistent, which this protocol needs: either the waiter
// sees the new value, or the thread that subtracts sees the waiter.
// Thread-safe.
class PartLedger {
 public:
  uint64_t bytes() const { return bytes_.load(); }
  void Add(size_t n) { bytes_.fetch_add(n); }
  // Returns true if somebody waits. The caller must then wake them.
  bool Subtract(size_t n) {
    bytes_.fetch_sub(n);
    return awaited_.load() && awaited_.exchange(false);
  }
  void Await() { awaited_.store(true); }

 private:
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<bool> awaited_ = false;
};

// Sizes are powers of two from 4 KiB to 4 MiB, so that small parts cost little. Memory begins at a
// cache line. Returned memory is reused, last in first out. For shared memory, the pool prefers
// memory that the requesting thread has filled before. Free memory is released above `keep_bytes`
// plus the part of `shared_bytes` that is not in use as shared memory. The pool is owned by the
// engine and by homes with outstanding parts, so parts may outlive both session and engine.
// Thread-safe.
class PartPool : public std::enable_shared_from_this<PartPool> {
 public:
  class Home;
  struct HomeCloser {
    void operator()(Home* home) const;
  };
  // Parts may return after the pointer is gone.
  using HomePtr = std::unique_ptr<Home, HomeCloser>;

  // Called when memory that somebody awaits has returned (ledger()).
  using OnReturn = std::function<void()>;

  PartPool(std::shared_ptr<PageMemory> memory, size_t keep_bytes, size_t shared_bytes,
           OnReturn on_return)
      : memory_(std::move(memory)),
        keep_bytes_(keep_bytes),
        most_shared_bytes_(shared_bytes),
        on_return_(std::move(on_return)) {}
  ~PartPool();

  // Returns the bytes that a part of `size` bytes takes. REQUIRES: size <=
  // PartBuffer::kMaxRowBytes.
  static size_t Capacity(size_t size);

  HomePtr MakeHome();

  // From this call on, parts of `home` lie in `memory` if it has room.
  void Lend(Home& home, std::shared_ptr<PartMemory> memory);

  // Returns memory of Capacity(size) bytes that will return to `home`. REQUIRES:
  // Home::Reserve(size) was called.
  std::span<uint8_t> Take(Home& home, size_t size);

  // Returns memory of Capacity(size) bytes for parts of several homes. It becomes free after
  // DropShared() and the return of every part that Share() allowed.
  std::span<uint8_t> TakeShared(size_t size);
  // Allows one more part in `memory` for each element of `homes`; a home may appear twice.
  // REQUIRES: Home::Reserve() was called for `reserved` of them, and Home::Pin() for the others,
  // with this size.
  void Share(std::span<Home* const> homes, size_t reserved, std::span<uint8_t> memory);
  void DropShared(std::span<uint8_t> memory);

  // Counts the memory that parts lie in, over all homes. Shared memory counts once.
  PartLedger& ledger() { return ledger_; }

  // Ends the calls of `on_return`.
  void Close();

 private:
  static constexpr size_t kMinBytes = 4096;
  static constexpr size_t kClasses = 11;
  static_assert(kMinBytes << (kClasses - 1) >= PartBuffer::kMaxRowBytes);

  struct SharedUse {
    bool kept = true;    // True until DropShared().
    uint32_t parts = 0;  // Number of outstanding parts.
    std::thread::id taker;
  };
  struct Free {
    uint8_t* memory = nullptr;
    std::thread::id taker = {};  // Set if the memory was shared.
  };

  static size_t Class(size_t size);
  // Prefers memory that `taker` has taken before.
  std::span<uint8_t> TakeFree(size_t size, std::thread::id taker = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t MostFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(std::span<uint8_t> memory, std::thread::id taker = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the memory of a part to the pool. The result is the number of bytes to subtract from
  // the ledger: 0 while other parts lie in the same memory.
  size_t ReturnPart(std::span<uint8_t> memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FreeShared(std::span<uint8_t> memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Subtracts from the ledger when a part returns. Even a `bytes` of 0 wakes waiters.
  void Subtract(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(Home& home, std::span<uint8_t> memory);
  void CloseHome(Home& home);

  const std::shared_ptr<PageMemory> memory_;  // Shared with the engine, which may go first.
  const size_t keep_bytes_;
  const size_t most_shared_bytes_;
  PartLedger ledger_;
  Mutex mutex_;
  OnReturn on_return_ ABSL_GUARDED_BY(mutex_);
  std::array<std::vector<Free>, kClasses> free_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const uint8_t*, SharedUse> shared_ ABSL_GUARDED_BY(mutex_);
  size_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t shared_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The place to which the parts of one session return. Deletes itself after the last of them.
class PartPool::Home final : public PartHome {
 public:
  void Return(std::span<uint8_t> memory) override { pool_->Return(*this, memory); }

  // Memory of the outstanding parts of the session, counted from Reserve() or Pin() on.
  uint64_t part_bytes() const { return part_bytes_.load(); }
  // Announces that a part of Capacity(size) bytes will be taken or shared.
  void Reserve(size_t size) {
    Pin(size);
    pool_->ledger_.Add(Capacity(size));
  }
  // Announces that a part will be shared in memory that another home has reserved.
  void Pin(size_t size) { part_bytes_.fetch_add(Capacity(size)); }

 private:
  friend class PartPool;
  explicit Home(std::shared_ptr<PartPool> pool) : pool_(std::move(pool)) {}
  ~Home() = default;

  std::shared_ptr<PartPool> pool_;  // Shared with the engine and other homes.
  std::atomic<uint64_t> part_bytes_ = 0;
  // The members below are guarded by the pool's mutex.
  bool closed_ = false;
  size_t outside_ = 0;  // Number of outstanding parts.
  // Shared with the lender. May be null.
  std::shared_ptr<PartMemory> lent_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PART_POOL_H_
