// penstock launch --check-build.
#ifndef PENSTOCK_CLI_LAUNCH_CHECK_BUILD_H_
#define PENSTOCK_CLI_LAUNCH_CHECK_BUILD_H_

#include "absl/status/status.h"

namespace penstock {

// Prints the launchers and programs that are found here, and the features that penstock-train
// reports.
absl::Status PrintBuild();

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_CHECK_BUILD_H_
