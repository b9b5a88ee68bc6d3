#include "base/permutation.h"

#include <utility>

#include "base/counter_rng.h"

namespace penstock {

void Shuffle(std::span<uint32_t> values, uint64_t key) {
  CounterRng rng(key);
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[rng.Below(i)]);
  }
}

}  // namespace penstock
