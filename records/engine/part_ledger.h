// What the parts outside take, known without a lock.
#ifndef PENSTOCK_RECORDS_ENGINE_PART_LEDGER_H_
#define PENSTOCK_RECORDS_ENGINE_PART_LEDGER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace penstock {

// Bytes of the memory that parts lie in, over all sessions, and whether somebody waits for less of
// it or for the return of a session's part. So every return subtracts, be it 0 of memory that other
// parts still lie in. Who waits holds the lock that he will sleep under, calls Await() and looks at
// bytes() again; who subtracts and finds it awaited takes that lock and wakes him. All accesses are
// sequentially consistent, as this needs: the waiter sees what was subtracted, or is seen.
// Thread-safe.
class PartLedger {
 public:
  uint64_t bytes() const { return bytes_.load(); }
  void Add(size_t n) { bytes_.fetch_add(n); }
  // True: somebody waits, and the caller shall wake him.
  bool Subtract(size_t n) {
    bytes_.fetch_sub(n);
    return awaited_.load() && awaited_.exchange(false);
  }
  void Await() { awaited_.store(true); }

 private:
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<bool> awaited_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PART_LEDGER_H_
