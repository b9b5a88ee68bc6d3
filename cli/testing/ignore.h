#ifndef PENSTOCK_CLI_TESTING_IGNORE_H_
#define PENSTOCK_CLI_TESTING_IGNORE_H_

#include <cstdint>

namespace penstock {

// A callback that ignores progress.
inline void Ignore(uint64_t) {}

}  // namespace penstock

#endif  // PENSTOCK_CLI_TESTING_IGNORE_H_
