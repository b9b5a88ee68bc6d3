#include "trainer/app/late_report.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "trainer/profile/recent_steps.h"

namespace penstock {

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
