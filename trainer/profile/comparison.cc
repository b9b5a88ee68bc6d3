#include "trainer/profile/comparison.h"

#include "absl/strings/str_format.h"
#include "records/base/text.h"

namespace penstock {
namespace {

std::string RateText(const RunRate& run) {
  return Grouped(static_cast<uint64_t>(run.rows_per_second())) + " positions/s";
}

}  // namespace

double RunRate::rows_per_second() const {
  const double seconds = std::chrono::duration<double>(times.total()).count();
  return seconds > 0 ? static_cast<double>(rows) / seconds : 0;
}

std::string CompareRuns(const RunRate& normal, const RunRate& other, const std::string& what,
                        Phase left_out) {
  if (normal.rows == 0 || other.rows == 0) {
    return absl::StrFormat("nothing to compare: %d rows without %s, %d with", normal.rows, what,
                           other.rows);
  }
  const double ratio = other.rows_per_second() / normal.rows_per_second();
  const char* name = left_out == Phase::kCollective ? "communication" : "input";
  return absl::StrFormat("normal %s (%s %.1f %% of the time), with %s %s: %.2f times: %s %s",
                         RateText(normal), name, 100 * normal.times.share(left_out), what,
                         RateText(other), ratio, name,
                         ratio >= 1.05 ? "costs that much" : "is not the limit");
}

}  // namespace penstock
