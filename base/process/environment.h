// The environment variables that a process was started with.
#ifndef PENSTOCK_BASE_PROCESS_ENVIRONMENT_H_
#define PENSTOCK_BASE_PROCESS_ENVIRONMENT_H_

#include <map>
#include <string>

namespace penstock {

using Environment = std::map<std::string, std::string>;

// The variables of this process.
Environment ProcessEnvironment();

}  // namespace penstock

#endif  // PENSTOCK_BASE_PROCESS_ENVIRONMENT_H_
