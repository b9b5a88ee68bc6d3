// What Prometheus reads of a server.
#ifndef PENSTOCK_SERVER_SERVER_METRICS_H_
#define PENSTOCK_SERVER_SERVER_METRICS_H_

#include "metrics/metric_families.h"
#include "proto/pieces.pb.h"

namespace penstock {

// penstock_server_* and process_*. One time series a name, four for the activities of the engine's
// threads: their number does not depend on the clients.
void AddServerMetrics(const v1::ServerStats& stats, MetricFamilies& families);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVER_METRICS_H_
