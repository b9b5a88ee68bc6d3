#include "metrics/metric_families.h"

#include <chrono>
#include <limits>

#include "base/process/process_stats.h"
#include "base/tls/pem_files.h"

namespace penstock {

prometheus::ClientMetric& MetricFamilies::Add(const std::string& name, const std::string& help,
                                              prometheus::MetricType type,
                                              const MetricLabels& labels) {
  if (families_.empty() || families_.back().name != name) {
    families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
  }
  prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, value});
  return metric;
}

void MetricFamilies::AddCounter(const std::string& name, const std::string& help, double value,
                                const MetricLabels& labels) {
  Add(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
}

void MetricFamilies::AddGauge(const std::string& name, const std::string& help, double value,
                              const MetricLabels& labels) {
  Add(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
}

void MetricFamilies::AddHistogram(const std::string& name, const std::string& help,
                                  const DurationHistogram& histogram) {
  prometheus::ClientMetric::Histogram& added =
      Add(name, help, prometheus::MetricType::Histogram, {}).histogram;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    added.sample_count += histogram.counts()[i];
    const bool is_bound = i < DurationHistogram::kBounds.size();
    added.bucket.push_back({.cumulative_count = added.sample_count,
                            .upper_bound = is_bound ? DurationHistogram::kBounds[i]
                                                    : std::numeric_limits<double>::infinity()});
  }
  added.sample_sum = absl::ToDoubleSeconds(histogram.sum());
}

void MetricFamilies::AddCertificateExpiry(const std::string& name, const std::string& path) {
  if (path.empty()) return;
  const absl::StatusOr<absl::Time> expiry = CertificateExpiry(path);
  if (!expiry.ok()) return;
  AddGauge(name, "When the first certificate of --tls-cert expires, as time since 1970.",
           absl::ToDoubleSeconds(*expiry - absl::UnixEpoch()));
}

void MetricFamilies::AddProcess() {
  const ProcessStats process = ReadProcessStats();
  AddCounter("process_cpu_seconds_total", "User and system time of the process.",
             process.cpu_seconds);
  AddGauge("process_resident_memory_bytes", "Resident memory of the process.",
           static_cast<double>(process.resident_bytes));
  AddGauge("process_open_fds", "Open file descriptors.", process.open_files);
  AddGauge("process_max_fds", "How many file descriptors the process may open.",
           process.open_files_limit);
  AddGauge("process_start_time_seconds", "When the process started, as time since 1970.",
           process.start_time_seconds);
}

}  // namespace penstock
