// Assembles what the Stats call and the metrics report.
#ifndef PENSTOCK_SERVER_SERVER_STATS_H_
#define PENSTOCK_SERVER_SERVER_STATS_H_

#include <chrono>

#include "proto/pieces.pb.h"
#include "records/engine/engine_options.h"

namespace penstock {

// Fills in everything except `draining`, `totals` and `stream`.
v1::ServerStats DescribeServer(const EngineStats& engine,
                               std::chrono::steady_clock::time_point started);

// Adds the counters of a stream.
void AddTo(v1::StreamTotals& totals, const v1::StreamStats& stream);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVER_STATS_H_
