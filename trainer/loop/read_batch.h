// The next batch of an input, or why there is none.
#ifndef PENSTOCK_TRAINER_LOOP_READ_BATCH_H_
#define PENSTOCK_TRAINER_LOOP_READ_BATCH_H_

#include <functional>

#include "absl/status/status.h"
#include "trainer/input/input.h"
#include "trainer/loop/agreement.h"

namespace penstock {

// What a rank has to say of it: kGo, and `batch` is filled; kEnd; kFailed, and `status` is why; or
// kStop, because should_stop() said so, before or while it was waited for: the input is closed to
// interrupt that. An empty `should_stop` never does.
Intent ReadBatch(Input& input, const std::function<bool()>& should_stop, InputBatch& batch,
                 absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_LOOP_READ_BATCH_H_
