#include "trainer/profile/step_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/profile/nvtx.h"

namespace penstock {

void StepRecorder::TraceSteps(uint64_t first, uint64_t last) {
  trace_first_ = first;
  trace_last_ = last;
  if (tracer_ != nullptr && first <= 1) tracer_->SetActive(true);
}

void StepRecorder::Trace(uint64_t next_step, Clock::time_point now) {
  if (tracer_ == nullptr) return;
  tracer_->SetActive(next_step >= trace_first_ && next_step < trace_last_);
  step_began_ = now;
}

void StepRecorder::Start(uint64_t next_step, Clock::time_point now) {
  total_ = {};
  {
    MutexLock lock(&mutex_);
    started_ = true;
    entered_ = now;
    phase_ = Phase::kOther;
    current_ = {};
    steps_ = 0;
  }
  Trace(next_step, now);
  EndRanges();
  BeginRanges(next_step);
}

void StepRecorder::BeginRanges(uint64_t step) {
  NvtxPush("step", step);
  NvtxPush(PhaseName(Phase::kOther));
  in_ranges_ = true;
}

void StepRecorder::EndRanges() {
  if (!in_ranges_) return;
  NvtxPop();
  NvtxPop();
  in_ranges_ = false;
}

Phase StepRecorder::Enter(Phase phase, Clock::time_point now) {
  Phase before;
  Clock::time_point entered;
  {
    MutexLock lock(&mutex_);
    before = std::exchange(phase_, phase);
    entered = std::exchange(entered_, now);
    current_[before] += now - entered;
  }
  total_[before] += now - entered;
  if (tracer_ != nullptr && tracer_->active() && now > entered) {
    tracer_->Add(0, PhaseName(before), entered, now);
  }
  if (in_ranges_) {
    NvtxPop();
    NvtxPush(PhaseName(phase));
  }
  return before;
}

void StepRecorder::MoveSince(const PhaseTimes& before, Phase to) {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < kPhases; ++i) {
    const std::chrono::nanoseconds moved = current_.times[i] - before.times[i];
    for (PhaseTimes* times : {&current_, &total_}) {
      times->times[i] -= moved;
      (*times)[to] += moved;
    }
  }
}

void StepRecorder::EndStep(uint64_t step, Clock::time_point now) {
  Enter(Phase::kOther, now);
  {
    MutexLock lock(&mutex_);
    ring_[steps_++ % kRing] = {step, std::exchange(current_, {})};
  }
  EndRanges();
  BeginRanges(step + 1);
  if (tracer_ == nullptr) return;
  if (tracer_->active()) tracer_->Add(0, absl::StrCat("step ", step), step_began_, now);
  Trace(step + 1, now);
}

void StepRecorder::Stop(Clock::time_point now) {
  Enter(Phase::kOther, now);
  EndRanges();
  if (tracer_ != nullptr) tracer_->SetActive(false);
}

PhaseTimes StepRecorder::current() const {
  MutexLock lock(&mutex_);
  return current_;
}

uint64_t StepRecorder::steps() const {
  MutexLock lock(&mutex_);
  return steps_;
}

std::optional<StepRecorder::Now> StepRecorder::Underway(Clock::time_point now) const {
  MutexLock lock(&mutex_);
  if (!started_) return std::nullopt;
  Now underway{.times = current_, .phase = phase_, .in_it = now - entered_};
  underway.times[phase_] += underway.in_it;
  return underway;
}

std::vector<StepRecorder::Step> StepRecorder::Newest(size_t most) const {
  MutexLock lock(&mutex_);
  const uint64_t count = std::min<uint64_t>({steps_, kRing, most});
  std::vector<Step> newest;
  newest.reserve(count);
  for (uint64_t i = steps_ - count; i < steps_; ++i) newest.push_back(ring_[i % kRing]);
  return newest;
}

}  // namespace penstock
