// The state of a training between two steps, except for its place in the data.
#ifndef PENSTOCK_TRAINER_BACKEND_TRAIN_STATE_H_
#define PENSTOCK_TRAINER_BACKEND_TRAIN_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

// Arenas in the layout of one ParameterTable.
struct TrainState {
  std::vector<float> parameters;
  std::vector<float> m;  // AdamW's moments.
  std::vector<float> v;
  uint64_t step = 0;  // Number of applied updates.

  TrainState() = default;
  explicit TrainState(size_t arena_size) : parameters(arena_size), m(arena_size), v(arena_size) {}
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_TRAIN_STATE_H_
