// Gives the buffers of a program their places, and its operations their order.
#ifndef PENSTOCK_TRAINER_STEP_ARENA_PLAN_H_
#define PENSTOCK_TRAINER_STEP_ARENA_PLAN_H_

#include "trainer/step/program.h"

namespace penstock {

// Sets the offset of every activation buffer and program.activation_size: two buffers share memory
// only if no operation of the list lies between the first and the last use of both.
void PlaceActivations(StepProgram& program);

// Sets `after` of every operation: the earlier ones whose memory it overlaps where one of the two
// writes, without those that others of the list already imply. REQUIRES: buffers have their
// places.
void OrderConflicts(StepProgram& program);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_ARENA_PLAN_H_
