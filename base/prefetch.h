// Prefetches a cache line that will be needed soon.
#ifndef PENSTOCK_BASE_PREFETCH_H_
#define PENSTOCK_BASE_PREFETCH_H_

namespace penstock {

// Compilers treat the empty asm statement as an effect. Without it, GCC 12 considers a function
// that only prefetches to have no effect, and removes its calls. Any address is allowed.
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
