#ifndef PENSTOCK_TRAINER_BACKEND_TESTING_NOISE_H_
#define PENSTOCK_TRAINER_BACKEND_TESTING_NOISE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/counter_rng.h"

namespace penstock {

// Numbers between -size and size, determined by `key`.
inline std::vector<float> Noise(size_t count, uint64_t key, double size = 1) {
  CounterRng rng(key);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(size * (2 * rng.Uniform() - 1));
  return values;
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_TESTING_NOISE_H_
