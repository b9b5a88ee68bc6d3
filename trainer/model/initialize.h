// Initial values of a model's parameters.
#ifndef PENSTOCK_TRAINER_MODEL_INITIALIZE_H_
#define PENSTOCK_TRAINER_MODEL_INITIALIZE_H_

#include <cstdint>
#include <span>

#include "trainer/model/parameter_table.h"

namespace penstock {

// Element i of parameter p is a function of (seed, p, i) alone, so any machine and any order of
// work gives the same bits. Matrices and biases are uniform +-1/sqrt(fan in), the position is
// normal with deviation 0.02 (Box, Muller 1958), gains are one, offsets and gaps are zero.
// Attention biases are zero and do not count in p, so that the other parameters start as in the
// model without them. REQUIRES: arena.size() == table.arena_size().
void InitializeParameters(const ParameterTable& table, uint64_t seed, std::span<float> arena);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_MODEL_INITIALIZE_H_
