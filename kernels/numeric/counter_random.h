// Random bits as a pure function of a key and an index, for host and device: value `index` of
// base/counter_rng.h's CounterRng(key), which this folder must not include.
//
// Keys are hashes, as DeriveKey() there makes them of a seed, a step and a layer. Keys that differ
// by n times 0x9e3779b97f4a7c15, which is what an index counts in, have the same bits n indices
// apart.
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

// Which values dropout keeps, and what it multiplies them by. Pure data.
struct Dropout {
  uint64_t keep_below = uint64_t{1} << 32;  // Of 2^32: the chance to be kept.
  float scale = 1.0f;                       // 1 / that chance.

  // REQUIRES: 0 <= rate < 1.
  static constexpr Dropout OfRate(double rate) {
    const auto keep = static_cast<uint64_t>((1.0 - rate) * 4294967296.0 + 0.5);
    return {keep, static_cast<float>(4294967296.0 / static_cast<double>(keep))};
  }
  PENSTOCK_HOST_DEVICE constexpr bool active() const { return keep_below < uint64_t{1} << 32; }
  // The factor of value `index`: 0 or scale.
  PENSTOCK_HOST_DEVICE constexpr float Factor(uint64_t key, uint64_t index) const {
    return (RandomBits(key, index) >> 32) < keep_below ? scale : 0.0f;
  }
};

// What a kernel reads of its dropout in device memory, so that a captured graph holds neither.
struct DropoutDraw {
  uint64_t key = 0;           // A hash.
  uint64_t first_sample = 0;  // Of the kernel's, in the global batch: indices count from there.
};

}  // namespace penstock

#endif  // PENSTOCK_KERNELS_NUMERIC_COUNTER_RANDOM_H_
