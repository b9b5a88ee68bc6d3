// Counters and gauges on their way to Prometheus.
#ifndef PENSTOCK_METRICS_METRIC_FAMILIES_H_
#define PENSTOCK_METRICS_METRIC_FAMILIES_H_

#include <string>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"

namespace penstock {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Values of one scrape, read when it happens: what is measured keeps its own counters and knows
// nothing of this. Names follow Prometheus' conventions: penstock_PROGRAM_WHAT_UNIT, base units,
// _total for counters. Values of one name are added one after the other. Not thread-safe.
class MetricFamilies {
 public:
  void AddCounter(const std::string& name, const std::string& help, double value,
                  const MetricLabels& labels = {});
  void AddGauge(const std::string& name, const std::string& help, double value,
                const MetricLabels& labels = {});
  // process_*, as Prometheus' own clients name what a process takes of its machine.
  void AddProcess();

  std::vector<prometheus::MetricFamily> Take() && { return std::move(families_); }

 private:
  prometheus::ClientMetric& Add(const std::string& name, const std::string& help,
                                prometheus::MetricType type, const MetricLabels& labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_METRIC_FAMILIES_H_
