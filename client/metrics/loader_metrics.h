// The metrics of a loader, for Prometheus.
#ifndef PENSTOCK_CLIENT_METRICS_LOADER_METRICS_H_
#define PENSTOCK_CLIENT_METRICS_LOADER_METRICS_H_

#include <cstddef>
#include <string>

#include "client/loader/loader.h"
#include "metrics/metric_families.h"

namespace penstock {

// The first servers of LoaderStats, up to this number, have time series of their own. The others
// are added up as server="other". So a changing set of servers has a bounded number of series.
inline constexpr size_t kMaxServerSeries = 128;

// Adds penstock_client_* and process_*. `certificate` is the client's own, a PEM file; may be
// empty.
void AddLoaderMetrics(const LoaderStats& stats, const std::string& certificate,
                      MetricFamilies& families);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_METRICS_LOADER_METRICS_H_
