// Keyed permutations: the same key gives the same order on every machine.
#ifndef PENSTOCK_BASE_PERMUTATION_H_
#define PENSTOCK_BASE_PERMUTATION_H_

#include <cstdint>
#include <span>

namespace penstock {

// Shuffles `values` in place in O(n): Fisher-Yates from the last element down, where element i is
// swapped with element CounterRng(key).Below(i + 1). This is part of the definition of the order:
// if you change it, raise the algorithm version in the order fingerprint.
void Shuffle(std::span<uint32_t> values, uint64_t key);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PERMUTATION_H_
