// Random bits as a pure function of a key and an index, for host and device. Value `index` equals
// that of base/counter_rng.h's CounterRng(key), which this folder must not include.
//
// Keys must be hashes, as DeriveKey() of that header makes them from a seed, a step and a layer.
// Keys that differ by n times 0x9e3779b97f4a7c15, the increment per index, have the same bits n
// indices apart.
#ifndef PENSTOCK_KERNELS_NUMERIC_COUNTER_RANDOM_H_
#define PENSTOCK_KERNELS_NUMERIC_COUNTER_RANDOM_H_

#include <cstdint>

#include "kernels/numeric/host_device.h"

namespace penstock {

PENSTOCK_HOST_DEVICE constexpr uint64_t RandomBits(uint64_t key, uint64_t index) {
  uint64_t x = key + (index + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Determines which values dropout keeps, and the factor that multiplies them. Pure data.
struct Dropout {
  uint64_t keep_below = uint64_t{1} << 32;  // Probability of keeping a value, times 2^32.
  float scale = 1.0f;                       // 1 / that probability.

  // REQUIRES: 0 <= rate < 1.
  static constexpr Dropout OfRate(double rate) {
    const auto keep = static_cast<uint64_t>((1.0 - rate) * 4294967296.0 + 0.5);
    return {keep, static_cast<float>(4294967296.0 / static_cast<double>(keep))};
  }
  PENSTOCK_HOST_DEVICE constexpr bool active() const { return keep_below < uint64_t{1} << 32; }
  // The factor of value `index`: 0 or `scale`.
  PENSTOCK_HOST_DEVICE constexpr float Factor(uint64_t key, uint64_t index) const {
    return (RandomBits(key, index) >> 32) < keep_below ? scale : 0.0f;
  }
};

// Dropout parameters that a kernel reads from device memory, so that a captured graph does not fix
// them.
struct DropoutDraw {
  uint64_t key = 0;  // Must be a hash (see above).
  // Position of the kernel's first sample in the global batch. Indices count from there.
  uint64_t first_sample = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KERNELS_NUMERIC_COUNTER_RANDOM_H_
