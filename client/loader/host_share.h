// One rank's share of a machine that several ranks use.
#ifndef PENSTOCK_CLIENT_LOADER_HOST_SHARE_H_
#define PENSTOCK_CLIENT_LOADER_HOST_SHARE_H_

#include <algorithm>
#include <cstdint>

#include "base/process/machine_limits.h"
#include "client/loader/loader.h"
#include "client/servers/server_list.h"

namespace penstock {

// Divides the machine among its `ranks` ranks (0 counts as 1) for "local:": sets local_threads to
// an equal part of the cores, at least one, and local_memory_budget to an equal part of a quarter
// of the memory. Leaves fields that are not 0, and options with servers, as they are.
inline void ShareHost(uint32_t ranks, const MachineLimits& machine, LoaderOptions& options) {
  if (options.servers != kLocalServer) return;
  ranks = std::max<uint32_t>(1, ranks);
  const uint32_t cores = std::max<uint32_t>(1, machine.cores / ranks);
  const uint64_t memory = machine.memory_bytes / 4 / ranks;
  if (options.local_threads == 0) options.local_threads = cores;
  if (options.local_memory_budget == 0) options.local_memory_budget = memory;
}

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_HOST_SHARE_H_
