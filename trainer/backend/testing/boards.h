// Random board records for tests and benchmarks, and a model for them.
#ifndef PENSTOCK_TRAINER_BACKEND_TESTING_BOARDS_H_
#define PENSTOCK_TRAINER_BACKEND_TESTING_BOARDS_H_

#include <cstdint>
#include <vector>

#include "base/counter_rng.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/model/model_config.h"

namespace penstock {

// Packed records of random bits with scores in (-1, 1).
struct RandomBoards {
  explicit RandomBoards(size_t count, uint64_t seed = 1) : records(count * 194), scores(count) {
    CounterRng rng(seed);
    for (uint8_t& byte : records) byte = static_cast<uint8_t>(rng.Next());
    for (float& score : scores) score = static_cast<float>(2 * rng.Uniform() - 1);
  }
  BatchRows rows() const {
    return {kPackedBoards, scores.size(), records.data(), nullptr, scores.data()};
  }

  std::vector<uint8_t> records;
  std::vector<float> scores;
};

// The smallest model that the kernels accept.
inline ModelConfig SmallModel(double dropout = 0) {
  ModelConfig config{"small", 1, 16, 1, 24};
  config.dropout = dropout;
  return config;
}

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_TESTING_BOARDS_H_
