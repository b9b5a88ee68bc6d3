#include "trainer/profile/tracer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

double Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

Json NameEvent(const char* what, uint32_t track, absl::string_view name) {
  return {{"ph", "M"},
          {"pid", 0},
          {"tid", track},
          {"name", what},
          {"args", {{"name", std::string(name)}}}};
}

Json SpanEvent(const Tracer::Span& span) {
  Json event{{"ph", "X"},
             {"pid", 0},
             {"tid", span.track},
             {"name", span.name},
             {"ts", Microseconds(span.begin.time_since_epoch())},
             {"dur", Microseconds(std::max({}, span.end - span.begin))}};
  for (const auto& [what, number] : span.numbers) event["args"][what] = number;
  return event;
}

// `phase` is "s" for the start of an arrow, "f" for its end. Each belongs to the span that begins
// at the same time.
Json FlowEvent(const char* phase, const Tracer::Span& span, uint64_t id) {
  Json event{{"ph", phase},
             {"pid", 0},
             {"tid", span.track},
             {"name", "launch"},
             {"cat", "launch"},
             {"id", id},
             {"ts", Microseconds(span.begin.time_since_epoch())}};
  if (*phase == 'f') event["bp"] = "e";
  return event;
}

}  // namespace

void Tracer::NameTrack(uint32_t track, std::string name) {
  MutexLock lock(&mutex_);
  tracks_[track] = std::move(name);
}

void Tracer::Add(Span span) {
  MutexLock lock(&mutex_);
  Keep(std::move(span));
}

// The system may reuse the ID of a thread that has ended; a different name means a different
// thread.
void Tracer::NameThread(std::string name) {
  MutexLock lock(&mutex_);
  threads_[std::this_thread::get_id()] = {.name = std::move(name)};
}

uint32_t Tracer::TrackOfThread() {
  Thread& thread = threads_[std::this_thread::get_id()];
  if (thread.track != 0) return thread.track;
  thread.track = next_thread_track_++;
  tracks_[thread.track] =
      thread.name.empty() ? absl::StrCat("thread ", thread.track - kFirstThreadTrack) : thread.name;
  return thread.track;
}

void Tracer::AddSpan(const char* name, SpanNumber number, Clock::time_point begin,
                     Clock::time_point end) {
  MutexLock lock(&mutex_);
  Span span{.track = TrackOfThread(), .name = name, .begin = begin, .end = end};
  if (number.what != nullptr) span.numbers.emplace_back(number.what, number.value);
  Keep(std::move(span));
}

void Tracer::Keep(Span span) {
  if (spans_.size() < kMaxSpans) {
    spans_.push_back(std::move(span));
  } else {
    ++left_out_;
  }
}

size_t Tracer::num_spans() const {
  MutexLock lock(&mutex_);
  return spans_.size();
}

uint64_t Tracer::num_left_out() const {
  MutexLock lock(&mutex_);
  return left_out_;
}

std::string Tracer::ToJson(absl::string_view process, uint32_t pid) const {
  MutexLock lock(&mutex_);
  Json events = Json::array();
  events.push_back(NameEvent("process_name", 0, process));
  for (const auto& [track, name] : tracks_) events.push_back(NameEvent("thread_name", track, name));
  std::vector<const Span*> in_order;
  in_order.reserve(spans_.size());
  for (const Span& span : spans_) in_order.push_back(&span);
  std::stable_sort(in_order.begin(), in_order.end(), [](const Span* a, const Span* b) {
    return std::make_pair(a->begin, b->end) < std::make_pair(b->begin, a->end);
  });
  for (const Span* span : in_order) {
    events.push_back(SpanEvent(*span));
    if (span->flow_out != 0) events.push_back(FlowEvent("s", *span, span->flow_out));
    if (span->flow_in != 0) events.push_back(FlowEvent("f", *span, span->flow_in));
  }
  for (Json& event : events) event["pid"] = pid;
  return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump();
}

}  // namespace penstock
