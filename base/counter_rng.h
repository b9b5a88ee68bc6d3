// Random numbers as a pure function of a key and a counter.
#ifndef PENSTOCK_BASE_COUNTER_RNG_H_
#define PENSTOCK_BASE_COUNTER_RNG_H_

#include <cstdint>

namespace penstock {

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014; constants of Stafford's mix 13). A bijection of 64-bit numbers.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Derives a key from a parent key and a number: DeriveKey(DeriveKey(seed, epoch), window).
constexpr uint64_t DeriveKey(uint64_t key, uint64_t number) {
  return Mix64(Mix64(key + 0x9e3779b97f4a7c15ull) ^ (number + 0xd1b54a32d192ed03ull));
}

// SplitMix64: value i is Mix64(key + (i + 1) * gamma), so any value is reached in O(1).
// Thread-compatible.
class CounterRng {
 public:
  constexpr explicit CounterRng(uint64_t key, uint64_t counter = 0)
      : state_(key + counter * kGamma) {}

  constexpr uint64_t Next() { return Mix64(state_ += kGamma); }

  // Uniform over [0, bound), without bias (Lemire, "Fast random integer generation in an interval",
  // 2019). REQUIRES: bound > 0.
  constexpr uint64_t Below(uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold) {
        product = static_cast<unsigned __int128>(Next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform over [0, 1), with 53 random bits.
  constexpr double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  static constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ull;
  uint64_t state_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_COUNTER_RNG_H_
