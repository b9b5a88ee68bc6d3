#include "base/process/environment.h"

#include <unistd.h>

#include <cstring>

namespace penstock {

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (const char* equals = std::strchr(*entry, '='); equals != nullptr) {
      environment.emplace(std::string(*entry, static_cast<size_t>(equals - *entry)), equals + 1);
    }
  }
  return environment;
}

}  // namespace penstock
