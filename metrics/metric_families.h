// Collects counters, gauges and histograms for Prometheus.
#ifndef PENSTOCK_METRICS_METRIC_FAMILIES_H_
#define PENSTOCK_METRICS_METRIC_FAMILIES_H_

#include <string>
#include <utility>
#include <vector>

#include "base/duration_histogram.h"
#include "prometheus/metric_family.h"

namespace penstock {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// The values of one scrape, read when it happens. Whatever is measured keeps its own counters and
// does not know this class. Names follow Prometheus' conventions: penstock_PROGRAM_WHAT_UNIT, base
// units, _total for counters. Add all values of one name one after the other. Not thread-safe.
class MetricFamilies {
 public:
  void AddCounter(const std::string& name, const std::string& help, double value,
                  const MetricLabels& labels = {});
  void AddGauge(const std::string& name, const std::string& help, double value,
                const MetricLabels& labels = {});
  void AddHistogram(const std::string& name, const std::string& help,
                    const DurationHistogram& histogram);
  // Adds the time at which the first certificate of the PEM file `path` expires. Adds nothing if
  // the path is empty or the file cannot be read.
  void AddCertificateExpiry(const std::string& name, const std::string& path);
  // Adds process_*, with the names that Prometheus' own clients use for a process's resources.
  void AddProcess();

  std::vector<prometheus::MetricFamily> Take() && { return std::move(families_); }

 private:
  prometheus::ClientMetric& Add(const std::string& name, const std::string& help,
                                prometheus::MetricType type, const MetricLabels& labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace penstock

#endif  // PENSTOCK_METRICS_METRIC_FAMILIES_H_
