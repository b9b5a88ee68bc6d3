// Names of operations in traces.
#ifndef PENSTOCK_TRAINER_STEP_OP_NAME_H_
#define PENSTOCK_TRAINER_STEP_OP_NAME_H_

#include "trainer/step/program.h"

namespace penstock {

// For example "attention backward". DeviceOpName() uses the same names.
const char* OpName(OpKind kind);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_OP_NAME_H_
