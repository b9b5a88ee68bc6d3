// Assigns offsets to a program's buffers, and orders its operations.
#ifndef PENSTOCK_TRAINER_STEP_ARENA_PLAN_H_
#define PENSTOCK_TRAINER_STEP_ARENA_PLAN_H_

#include "trainer/step/program.h"

namespace penstock {

// Sets the offset of every activation buffer and program.activation_size: two buffers share memory
// only if no operation of the list lies between the first and the last use of both.
void PlaceActivations(StepProgram& program);

// Sets `after` of every operation: the earlier operations whose memory it overlaps if one of the
// two writes, except those that other entries imply. REQUIRES: buffers have their offsets.
void OrderConflicts(StepProgram& program);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_ARENA_PLAN_H_
