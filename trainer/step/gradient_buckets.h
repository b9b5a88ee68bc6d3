// Groups gradients that are finished together, so that they can be sent while a step still
// computes.
#ifndef PENSTOCK_TRAINER_STEP_GRADIENT_BUCKETS_H_
#define PENSTOCK_TRAINER_STEP_GRADIENT_BUCKETS_H_

#include <cstddef>
#include <vector>

#include "trainer/step/program.h"

namespace penstock {

// The range [first, first + count) of a gradient arena.
struct GradientRange {
  size_t first;
  size_t count;
};

// The gradients of linear layers' weights, each of which one operation of the program computes;
// ascending.
std::vector<GradientRange> WeightGradients(const StepProgram& program);

// The range [first, first + count) of a gradient arena. No operation after ops[op] writes to it.
struct GradientBucket {
  size_t first;
  size_t count;
  size_t op;

  friend bool operator==(const GradientBucket&, const GradientBucket&) = default;
};

// Cuts a gradient arena of `size` floats, between parameters, into buckets of `floats` floats or
// somewhat more. The bucket at the arena's beginning, which is finished last, gets the rest. If
// `floats` is 0, there is one bucket. The result is in the order in which the program, a training
// of one block, finishes them.
std::vector<GradientBucket> CutGradients(const StepProgram& program, size_t size, size_t floats);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_GRADIENT_BUCKETS_H_
