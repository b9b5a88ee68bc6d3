// Where programs that ranks and launchers need are.
#ifndef PENSTOCK_CLI_LAUNCH_FIND_PROGRAM_H_
#define PENSTOCK_CLI_LAUNCH_FIND_PROGRAM_H_

#include <string>

#include "base/process/environment.h"

namespace penstock {

// PATH, and the folder of this program: penstock-train is found beside it, in PATH or not.
std::string SearchPath(const Environment& environment);

// The path of a program that execvp() would run with PATH=`path`; empty: none.
std::string FindProgram(const std::string& name, const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_FIND_PROGRAM_H_
