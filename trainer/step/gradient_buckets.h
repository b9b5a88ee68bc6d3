// Which gradients are finished together, so that they can travel while a step still computes.
#ifndef PENSTOCK_TRAINER_STEP_GRADIENT_BUCKETS_H_
#define PENSTOCK_TRAINER_STEP_GRADIENT_BUCKETS_H_

#include <cstddef>
#include <vector>

#include "trainer/step/program.h"

namespace penstock {

// [first, first + count) of a gradient arena.
struct GradientRange {
  size_t first;
  size_t count;
};

// The gradients of the weights of linear layers, each of which one operation of the program
// computes; increasing.
std::vector<GradientRange> WeightGradients(const StepProgram& program);

// [first, first + count) of a gradient arena; no operation after ops[op] of the program writes it.
struct GradientBucket {
  size_t first;
  size_t count;
  size_t op;

  friend bool operator==(const GradientBucket&, const GradientBucket&) = default;
};

// Cuts a gradient arena of `size` floats between parameters into buckets of `floats` or somewhat
// more; what is finished last, at the arena's beginning, gets what is left. 0: one bucket. In the
// order in which the program, a training of one block, finishes them.
std::vector<GradientBucket> CutGradients(const StepProgram& program, size_t size, size_t floats);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_GRADIENT_BUCKETS_H_
