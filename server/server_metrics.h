// The metrics of a server, for Prometheus.
#ifndef PENSTOCK_SERVER_SERVER_METRICS_H_
#define PENSTOCK_SERVER_SERVER_METRICS_H_

#include "metrics/metric_families.h"
#include "proto/pieces.pb.h"

namespace penstock {

// Adds penstock_server_* and process_*. Each name has one time series, and the activities of the
// engine's threads have four. The number does not depend on the clients.
void AddServerMetrics(const v1::ServerStats& stats, MetricFamilies& families);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SERVER_METRICS_H_
