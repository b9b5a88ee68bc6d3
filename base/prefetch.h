// Asks memory for a cache line that will be wanted soon.
#ifndef PENSTOCK_BASE_PREFETCH_H_
#define PENSTOCK_BASE_PREFETCH_H_

namespace penstock {

// The empty statement has an effect as compilers see it. Without it GCC 12 takes a function that
// only prefetches for one without effect, and leaves out its calls. Any address will do.
inline void Prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

inline void PrefetchToWrite(const void* address) {
  __builtin_prefetch(address, /*rw=*/1);
  asm volatile("");
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_PREFETCH_H_
