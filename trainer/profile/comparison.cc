#include "trainer/profile/comparison.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "base/text.h"

namespace penstock {
namespace {

constexpr double kWorthALook = 0.05;  // Least gain in speed worth a look, as a fraction.
// Shorter waits, as a fraction of the time, do not count.
constexpr double kHardlyWaitedFor = 0.01;
constexpr char kMoreSteps[] = "repeat with more --steps, on an otherwise idle machine";

const char* NameOf(Phase left_out) {
  return left_out == Phase::kCollective ? "communication" : "input";
}

bool IsWorthALook(double ratio) { return ratio >= 1 + kWorthALook; }

// Whether the wait agrees with the rates. Around the threshold they may differ a little.
bool Explains(double waited, double expected, double ratio) {
  if (IsWorthALook(ratio) == IsWorthALook(expected)) return true;
  return waited >= kHardlyWaitedFor && std::abs(ratio - expected) <= kWorthALook;
}

// A run that waits for a fraction of its time is slower by that fraction than one that never waits.
// Two consecutive runs also differ by other work of the machine.
std::string Finding(double ratio, double waited, Phase left_out) {
  const char* const name = NameOf(left_out);
  if (ratio < 1 - kWorthALook) {
    return absl::StrFormat(
        "inconclusive: the steps without waiting for %s were slower, so the machine's speed "
        "varied; %s",
        name, kMoreSteps);
  }
  const double expected = waited < 1 ? 1 / (1 - waited) : HUGE_VAL;
  if (!Explains(waited, expected, ratio)) {
    return absl::StrFormat(
        "inconclusive: waiting for %s took %.1f %% of the time, so %.2f times was expected; the "
        "machine's speed varied, or %s takes cores that computation needs; %s",
        name, 100 * waited, expected, name, kMoreSteps);
  }
  return absl::StrFormat("%s %s", name,
                         IsWorthALook(ratio) ? "slows training" : "is not the limit");
}

std::string RateText(const RunRate& run) {
  return Grouped(static_cast<uint64_t>(run.rows_per_second())) + "/s";
}

}  // namespace

double RunRate::rows_per_second() const {
  const double seconds = std::chrono::duration<double>(times.total()).count();
  return seconds > 0 ? static_cast<double>(rows) / seconds : 0;
}

std::string CompareRuns(const RunRate& normal, const RunRate& other, const std::string& what,
                        Phase left_out) {
  if (normal.rows == 0 || other.rows == 0) {
    return absl::StrFormat(
        "nothing to compare: %d rows in normal steps, %d with %s; train more --steps", normal.rows,
        other.rows, what);
  }
  const double ratio = other.rows_per_second() / normal.rows_per_second();
  const double waited = normal.times.share(left_out);
  return absl::StrFormat("normal %s (%s %.1f %% of the time), with %s %s, %.2f times as fast; %s",
                         RateText(normal), NameOf(left_out), 100 * waited, what, RateText(other),
                         ratio, Finding(ratio, waited, left_out));
}

}  // namespace penstock
