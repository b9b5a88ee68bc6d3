#include "trainer/profile/phase.h"

namespace penstock {

const char* PhaseName(Phase phase) {
  static constexpr const char* kNames[kPhases] = {
      "input", "host_to_device", "launch", "compute", "collective", "output", "other"};
  return kNames[static_cast<size_t>(phase)];
}

double PhaseTimes::share(Phase phase) const {
  const auto all = static_cast<double>(total().count());
  return all > 0 ? static_cast<double>((*this)[phase].count()) / all : 0;
}

}  // namespace penstock
