#include "trainer/profile/device_gaps.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"

namespace penstock {
namespace {

using Time = Tracer::Clock::time_point;
using Works = std::vector<const DeviceWork*>;

double Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// The work of launches that compute, sorted by launch and then by begin.
Works InOrder(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches) {
  Works works;
  for (const DeviceWork& work : records.work) {
    if (work.launch < launches.size() && launches[work.launch].computes) works.push_back(&work);
  }
  std::sort(works.begin(), works.end(), [](const DeviceWork* a, const DeviceWork* b) {
    return std::tie(a->launch, a->begin, a->end) < std::tie(b->launch, b->begin, b->end);
  });
  return works;
}

// Adds up launch after launch.
class Sum {
 public:
  Sum(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches)
      : records_(records), launches_(launches) {
    times_.source = records.source;
    times_.every_kernel = records.every_kernel;
    times_.overhead = records.overhead;
  }

  void Add(const DeviceWork& work) {
    const DeviceLaunch& launch = launches_[work.launch];
    const bool first = times_.steps.empty();
    const bool same_step = !first && times_.steps.back().step == launch.step;
    if (!same_step) times_.steps.push_back({.step = launch.step, .steps = launch.steps});
    DeviceStep& step = times_.steps.back();
    ++step.works;
    if (!first) AddIdle(work, step, same_step);
    const Time begin = first ? work.begin : std::max(work.begin, end_);
    const std::chrono::nanoseconds more = std::max({}, work.end - begin);
    step.busy += more;
    step.alone += more;
    if (!work.communicates) AddComputing(work, step);
    if (first || work.end > end_) end_ = work.end, newest_ = &work;
    launch_ = work.launch;
  }

  DeviceTimes Take() && {
    for (const DeviceStep& step : times_.steps) {
      times_.sum.before += step.before;
      times_.sum.busy += step.busy;
      times_.sum.alone += step.alone;
      times_.sum.inside += step.inside;
      times_.sum.between += step.between;
      times_.sum.works += step.works;
    }
    times_.sum.steps = 0;
    for (const DeviceStep& step : times_.steps) times_.sum.steps += step.steps;
    if (!times_.steps.empty()) times_.sum.step = times_.steps.front().step;
    return std::move(times_);
  }

 private:
  // Subtracts time in which something computes from the time in which only communication runs.
  void AddComputing(const DeviceWork& work, DeviceStep& step) {
    step.alone -= std::max({}, work.end - std::max(work.begin, computed_));
    computed_ = std::max(computed_, work.end);
  }
  void AddIdle(const DeviceWork& work, DeviceStep& step, bool same_step) {
    const std::chrono::nanoseconds idle = work.begin - end_;
    if (idle.count() <= 0) return;
    if (work.launch != launch_) {
      (same_step ? step.between : step.before) += idle;
      return;
    }
    step.inside += idle;
    if (idle <= times_.longest) return;
    times_.longest = idle;
    times_.longest_after = records_.names[newest_->name];
    times_.longest_before = records_.names[work.name];
  }

  const DeviceRecords& records_;
  const std::vector<DeviceLaunch>& launches_;
  DeviceTimes times_;
  size_t launch_ = kNoLaunch;
  Time end_ = {}, computed_ = {};       // End of all work so far, and of computing work.
  const DeviceWork* newest_ = nullptr;  // The work that ended last.
};

}  // namespace

DeviceTimes MeasureGaps(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches) {
  Sum sum(records, launches);
  for (const DeviceWork* work : InOrder(records, launches)) sum.Add(*work);
  return std::move(sum).Take();
}

std::string DeviceTimesLine(const DeviceTimes& times) {
  const DeviceStep& sum = times.sum;
  const std::chrono::nanoseconds all = sum.before + sum.busy + sum.inside + sum.between;
  if (sum.steps == 0 || all.count() == 0) {
    return absl::StrCat("device, by ", times.source, ": no work of a step was recorded");
  }
  auto percent = [&](std::chrono::nanoseconds part) {
    return 100 * Milliseconds(part) / Milliseconds(all);
  };
  std::string line = absl::StrFormat(
      "device, by %s: steps %d to %d, %s ms each: %.1f %% busy, %.2f %% idle between steps",
      times.source, sum.step, sum.step + sum.steps - 1,
      ThreeDigits(Milliseconds(all) / static_cast<double>(sum.steps)), percent(sum.busy),
      percent(sum.before));
  if (sum.alone.count() > 0) {
    absl::StrAppendFormat(&line, ", %.2f %% only communicating", percent(sum.alone));
  }
  if (sum.between.count() > 0) {
    absl::StrAppendFormat(&line, ", %.2f %% idle between a step's launches", percent(sum.between));
  }
  if (!times.every_kernel) return absl::StrCat(line, "; idle inside a launch is not known");
  absl::StrAppendFormat(&line, ", %.2f %% idle inside launches", percent(sum.inside));
  if (times.longest.count() > 0) {
    absl::StrAppendFormat(&line, " (the longest gap %s us, after %s and before %s)",
                          ThreeDigits(1e3 * Milliseconds(times.longest)), times.longest_after,
                          times.longest_before);
  }
  absl::StrAppendFormat(&line, "; %.5g kernels and copies per step",
                        static_cast<double>(sum.works) / static_cast<double>(sum.steps));
  if (times.overhead.count() == 0) return line;
  return absl::StrFormat("%s; recording took %s ms on the host", line,
                         ThreeDigits(Milliseconds(times.overhead)));
}

std::vector<std::string> DeviceNotes(const DeviceRecords& records) {
  std::vector<std::string> notes = records.notes;
  if (records.dropped > 0) {
    notes.push_back(absl::StrCat(records.dropped,
                                 " records of GPU work were dropped, because the buffers were "
                                 "full; give fewer --profile-steps"));
  }
  if (records.untimed > 0) {
    notes.push_back(absl::StrCat(records.untimed,
                                 " records of GPU work have no times and are left out, because the "
                                 "GPU had no memory to store them; give fewer --profile-steps"));
  }
  return notes;
}

}  // namespace penstock
