// For backends that do two operations as one. Places and order are then to be made anew:
// PlaceActivations(), OrderConflicts().
#ifndef PENSTOCK_TRAINER_STEP_FUSE_H_
#define PENSTOCK_TRAINER_STEP_FUSE_H_

#include "trainer/step/program.h"

namespace penstock {

// Makes one operation of every linear layer without a residual whose result the next operation
// takes the GELU of.
void FuseGelu(StepProgram& program);
// The same of every gradient by a linear layer's input that the next operation takes through the
// GELU before the layer.
void FuseGeluBackward(StepProgram& program);
// The same of every residual that is added to what the next operation normalises.
void FuseResidualNorm(StepProgram& program);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_FUSE_H_
