#include "trainer/app/late_report.h"

#include <cstdio>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/print_escaped.h"
#include "base/text.h"

namespace penstock {
namespace {

constexpr size_t kSteps = 4;

std::string SecondsText(std::chrono::nanoseconds time) {
  return ThreeDigits(std::chrono::duration<double>(time).count());
}

// "0.152 s (compute 0.149, collective 0.003)".
std::string TimesText(const PhaseTimes& times) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    if (times.share(phase) < 0.01) continue;
    parts.push_back(absl::StrCat(PhaseName(phase), " ", SecondsText(times[phase])));
  }
  return absl::StrCat(SecondsText(times.total()), " s (", absl::StrJoin(parts, ", "), ")");
}

}  // namespace

std::string DescribeRecentSteps(const StepRecorder& recorder, StepRecorder::Clock::time_point now) {
  const std::optional<StepRecorder::Now> underway = recorder.Underway(now);
  if (!underway.has_value()) return "";
  std::vector<std::string> steps;
  for (const StepRecorder::Step& step : recorder.Newest(kSteps)) {
    steps.push_back(absl::StrCat("step ", step.step, " took ", TimesText(step.times)));
  }
  const char* const since = steps.empty() ? "; so far " : "; since then ";
  if (steps.empty()) steps.push_back("no step has ended yet");
  return absl::StrCat(absl::StrJoin(steps, ", "), since, TimesText(underway->times), ", now in ",
                      PhaseName(underway->phase), " for ", SecondsText(underway->in_it), " s");
}

std::string LateReport::Lines(absl::string_view late) const {
  std::string lines = absl::StrCat("penstock-train: ", mark_, late, "\n");
  MutexLock lock(&mutex_);
  const std::string steps = recorder_ == nullptr ? "" : DescribeRecentSteps(*recorder_);
  if (!steps.empty()) absl::StrAppend(&lines, "penstock-train: ", mark_, "here ", steps, "\n");
  return lines;
}

void LateReport::Tell(absl::string_view late) const {
  PrintEscaped(stderr, "%s", Multiline(Lines(late)));
}

}  // namespace penstock
