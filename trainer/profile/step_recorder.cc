#include "trainer/profile/step_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/profile/nvtx.h"

namespace penstock {

void StepRecorder::Trace(uint64_t next_step, Clock::time_point now) {
  if (tracer_ == nullptr) return;
  tracer_->SetActive(next_step >= trace_first_ && next_step < trace_last_);
  step_began_ = now;
}

void StepRecorder::Start(uint64_t next_step, Clock::time_point now) {
  entered_ = now;
  phase_ = Phase::kOther;
  current_ = total_ = {};
  steps_ = 0;
  Trace(next_step, now);
  EndRanges();
  BeginRanges(next_step);
}

// A step, and in it the phase.
void StepRecorder::BeginRanges(uint64_t step) {
  NvtxPush("step", step);
  NvtxPush(PhaseName(phase_));
  in_ranges_ = true;
}

void StepRecorder::EndRanges() {
  if (!in_ranges_) return;
  NvtxPop();
  NvtxPop();
  in_ranges_ = false;
}

Phase StepRecorder::Enter(Phase phase, Clock::time_point now) {
  const std::chrono::nanoseconds time = now - entered_;
  current_[phase_] += time;
  total_[phase_] += time;
  if (tracer_ != nullptr && tracer_->active() && time.count() > 0) {
    tracer_->Add(0, PhaseName(phase_), entered_, now);
  }
  entered_ = now;
  if (in_ranges_) {
    NvtxPop();
    NvtxPush(PhaseName(phase));
  }
  return std::exchange(phase_, phase);
}

void StepRecorder::EndStep(uint64_t step, Clock::time_point now) {
  Enter(Phase::kOther, now);
  ring_[steps_++ % kRing] = {step, std::exchange(current_, {})};
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

std::vector<StepRecorder::Step> StepRecorder::Newest() const {
  const uint64_t count = std::min<uint64_t>(steps_, kRing);
  std::vector<Step> newest;
  newest.reserve(count);
  for (uint64_t i = steps_ - count; i < steps_; ++i) newest.push_back(ring_[i % kRing]);
  return newest;
}

}  // namespace penstock
