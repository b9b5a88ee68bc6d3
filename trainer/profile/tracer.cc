#include "trainer/profile/tracer.h"

#include <utility>

#include "nlohmann/json.hpp"

namespace penstock {
namespace {

double Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

nlohmann::ordered_json NameEvent(const char* what, uint32_t track, absl::string_view name) {
  return {{"ph", "M"},
          {"pid", 1},
          {"tid", track},
          {"name", what},
          {"args", {{"name", std::string(name)}}}};
}

}  // namespace

void Tracer::NameTrack(uint32_t track, std::string name) {
  MutexLock lock(&mutex_);
  tracks_[track] = std::move(name);
}

void Tracer::Add(uint32_t track, std::string name, Clock::time_point begin, Clock::time_point end) {
  MutexLock lock(&mutex_);
  if (spans_.size() < kMaxSpans) spans_.push_back({track, std::move(name), begin, end});
}

size_t Tracer::num_spans() const {
  MutexLock lock(&mutex_);
  return spans_.size();
}

std::string Tracer::ToJson(absl::string_view process) const {
  MutexLock lock(&mutex_);
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  events.push_back(NameEvent("process_name", 0, process));
  for (const auto& [track, name] : tracks_) events.push_back(NameEvent("thread_name", track, name));
  for (const Span& span : spans_) {
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", span.track},
                      {"name", span.name},
                      {"ts", Microseconds(span.begin.time_since_epoch())},
                      {"dur", Microseconds(span.end - span.begin)}});
  }
  return nlohmann::ordered_json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}
      .dump();
}

}  // namespace penstock
