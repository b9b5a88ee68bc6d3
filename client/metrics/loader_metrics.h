// What Prometheus reads of a loader.
#ifndef PENSTOCK_CLIENT_METRICS_LOADER_METRICS_H_
#define PENSTOCK_CLIENT_METRICS_LOADER_METRICS_H_

#include <cstddef>

#include "client/loader/loader.h"
#include "metrics/metric_families.h"

namespace penstock {

// Servers that have time series of their own, the first ones of LoaderStats; the rest are added up
// as server="other", so that a set that comes and goes costs a bounded number of series.
inline constexpr size_t kMaxServerSeries = 128;

// penstock_client_* and process_*.
void AddLoaderMetrics(const LoaderStats& stats, MetricFamilies& families);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_METRICS_LOADER_METRICS_H_
