// Fuses pairs of operations, for backends that run them as one. Call PlaceActivations() and
// OrderConflicts() afterwards.
#ifndef PENSTOCK_TRAINER_STEP_FUSE_H_
#define PENSTOCK_TRAINER_STEP_FUSE_H_

#include "trainer/step/program.h"

namespace penstock {

// Fuses every linear layer without a residual with the GELU that the next operation applies to its
// result.
void FuseGelu(StepProgram& program);
// Fuses every input gradient of a linear layer with the backward of the GELU before that layer, if
// that is the next operation.
void FuseGeluBackward(StepProgram& program);
// Fuses every addition of a residual with the norm of its sum, if that is the next operation.
void FuseResidualNorm(StepProgram& program);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_FUSE_H_
