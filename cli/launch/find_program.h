// Finds the programs that ranks and launchers need.
#ifndef PENSTOCK_CLI_LAUNCH_FIND_PROGRAM_H_
#define PENSTOCK_CLI_LAUNCH_FIND_PROGRAM_H_

#include <string>

#include "base/process/environment.h"

namespace penstock {

// Returns PATH and the folder of this program, so that penstock-train is found beside it even if it
// is not in PATH.
std::string SearchPath(const Environment& environment);

// Returns the path of the program that execvp() would run with PATH=`path`; empty if there is none.
std::string FindProgram(const std::string& name, const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_FIND_PROGRAM_H_
