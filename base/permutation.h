// Keyed permutations: the same key gives the same order on every machine.
#ifndef PENSTOCK_BASE_PERMUTATION_H_
#define PENSTOCK_BASE_PERMUTATION_H_

#include <cstdint>
#include <span>

namespace penstock {

// Shuffles `values` in place: Fisher-Yates from the last element down, element i swapped with
// CounterRng(key).Below(i + 1). Part of the order's definition: a change here needs a new
// algorithm version in the order fingerprint. O(n).
void Shuffle(std::span<uint32_t> values, uint64_t key);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PERMUTATION_H_
