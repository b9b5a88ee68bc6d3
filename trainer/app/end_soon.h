// The end of a process that may not be able to end by itself.
#ifndef PENSTOCK_TRAINER_APP_END_SOON_H_
#define PENSTOCK_TRAINER_APP_END_SOON_H_

#include <string>

#include "absl/time/time.h"

namespace penstock {

// Unless the process has ended within `limit`, prints `message` on stderr and ends it with code 1,
// without destructors: whatever they wait for. Thread-safe.
void EndProcessWithin(absl::Duration limit, const std::string& message);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_END_SOON_H_
