// Writes a benchmark's report.
#ifndef PENSTOCK_BENCH_REPORT_H_
#define PENSTOCK_BENCH_REPORT_H_

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

// Prints `report` and writes it to `json_file` unless that is empty. If `report` is an error,
// prints the error to stderr. Returns the exit status of `program`.
inline int PrintReport(const char* program, const absl::StatusOr<nlohmann::json>& report,
                       const std::string& json_file) {
  if (!report.ok()) {
    std::fprintf(stderr, "%s: %s\n", program, report.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", report->dump(2).c_str());
  if (json_file.empty()) return 0;
  std::ofstream file(json_file);
  file << report->dump(2) << '\n';
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "%s: %s cannot be written\n", program, json_file.c_str());
  return 1;
}

}  // namespace penstock

#endif  // PENSTOCK_BENCH_REPORT_H_
