// One rank's share of a machine that several ranks use.
#ifndef PENSTOCK_CLIENT_LOADER_HOST_SHARE_H_
#define PENSTOCK_CLIENT_LOADER_HOST_SHARE_H_

#include <algorithm>
#include <cstdint>

#include "base/process/machine_limits.h"

namespace penstock {

struct HostShare {
  uint32_t threads = 1;        // For LoaderOptions::local_threads.
  uint64_t memory_budget = 0;  // For LoaderOptions::local_memory_budget.
};

// Returns the share of one of `ranks` ranks (0 counts as 1): an equal part of the cores, at least
// one, and an equal part of a quarter of the memory.
inline HostShare ShareOfHost(uint32_t ranks, const MachineLimits& machine) {
  ranks = std::max<uint32_t>(1, ranks);
  return {std::max<uint32_t>(1, machine.cores / ranks), machine.memory_bytes / 4 / ranks};
}

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_HOST_SHARE_H_
