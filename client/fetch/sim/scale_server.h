// The servers of docs/guides/scale.md.
#ifndef PENSTOCK_CLIENT_FETCH_SIM_SCALE_SERVER_H_
#define PENSTOCK_CLIENT_FETCH_SIM_SCALE_SERVER_H_

#include "client/fetch/sim/sim_server.h"

namespace penstock::sim {

inline constexpr uint64_t kScaleRowBytes = 4096;

// 2 cores, and 1 ms of a core for each row: 2,000 rows/s. Parts carry no content.
inline ServerModel ScaleServer() {
  ServerModel server;
  server.cores = 2;
  server.row_cost = absl::Milliseconds(1);
  server.store = {.parallel_loads = 4, .seek = absl::Milliseconds(5), .rows_per_second = 1e5};
  server.part_rows = 256;
  server.row_bytes = kScaleRowBytes;
  server.credit_bytes = 64 << 20;
  server.content = false;
  return server;
}

}  // namespace penstock::sim

#endif  // PENSTOCK_CLIENT_FETCH_SIM_SCALE_SERVER_H_
