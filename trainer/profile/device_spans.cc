#include "trainer/profile/device_spans.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Time = Tracer::Clock::time_point;
using Works = std::vector<const DeviceWork*>;

// Returns the work that is shown, sorted by stream and then by time.
Works KeptInOrder(const DeviceRecords& records) {
  Time begin = Time::max(), end = Time::min();
  for (const DeviceWork& work : records.work) {
    if (work.launch == kNoLaunch) continue;
    begin = std::min(begin, work.begin);
    end = std::max(end, work.end);
  }
  Works kept;
  for (const DeviceWork& work : records.work) {
    if (work.launch != kNoLaunch || (work.begin < end && work.end > begin)) kept.push_back(&work);
  }
  std::sort(kept.begin(), kept.end(), [](const DeviceWork* a, const DeviceWork* b) {
    return std::tie(a->stream, a->begin, b->end) < std::tie(b->stream, b->begin, a->end);
  });
  return kept;
}

// The first work that each call queued, which is the target of its arrow.
std::map<uint32_t, const DeviceWork*> FirstOfCalls(const Works& works) {
  std::map<uint32_t, const DeviceWork*> first;
  for (const DeviceWork* work : works) {
    if (work->correlation == 0) continue;
    const DeviceWork*& found = first[work->correlation];
    if (found == nullptr || work->begin < found->begin) found = work;
  }
  return first;
}

class Lanes {
 public:
  explicit Lanes(uint32_t first_track) : next_track_(first_track) {}

  // Returns a free track for a span of `name`. Spans must come in the order of their begins.
  uint32_t TrackFor(const std::string& name, Time begin, Time end, Tracer& tracer) {
    std::vector<Lane>& lanes = lanes_[name];
    for (Lane& lane : lanes) {
      if (lane.end > begin) continue;
      lane.end = end;
      return lane.track;
    }
    lanes.push_back({next_track_++, end});
    tracer.NameTrack(lanes.back().track,
                     lanes.size() == 1 ? name : absl::StrCat(name, " (", lanes.size(), ")"));
    return lanes.back().track;
  }

 private:
  struct Lane {
    uint32_t track;
    Time end;
  };
  uint32_t next_track_;
  std::map<std::string, std::vector<Lane>> lanes_;
};

// Outer calls come before the calls within them. A runtime call and the driver call within it have
// the same correlation ID; only the outer call is kept.
void AddCalls(const DeviceRecords& records, const std::map<uint32_t, const DeviceWork*>& first,
              Tracer& tracer) {
  std::vector<const DeviceCall*> calls;
  for (const DeviceCall& call : records.calls) {
    if (first.contains(call.correlation)) calls.push_back(&call);
  }
  std::sort(calls.begin(), calls.end(), [](const DeviceCall* a, const DeviceCall* b) {
    return std::tie(a->begin, b->end) < std::tie(b->begin, a->end);
  });
  std::map<uint64_t, std::string> threads;
  std::map<uint32_t, const DeviceCall*> done;
  Lanes lanes(kFirstCallTrack);
  for (const DeviceCall* call : calls) {
    if (!done.emplace(call->correlation, call).second) continue;
    std::string& thread = threads[call->thread];
    if (thread.empty()) thread = absl::StrCat("CUDA calls of thread ", threads.size());
    tracer.Add({.track = lanes.TrackFor(thread, call->begin, call->end, tracer),
                .name = records.names[call->name],
                .begin = call->begin,
                .end = call->end,
                .flow_out = call->correlation});
  }
}

}  // namespace

void AddDeviceSpans(const DeviceRecords& records, const std::vector<DeviceLaunch>& launches,
                    Tracer& tracer) {
  const Works works = KeptInOrder(records);
  const std::map<uint32_t, const DeviceWork*> first = FirstOfCalls(works);
  std::map<uint32_t, bool> is_called;
  for (const DeviceCall& call : records.calls) is_called[call.correlation] = true;
  Lanes lanes(kFirstStreamTrack);
  for (const DeviceWork* work : works) {
    Tracer::Span span{
        .track = lanes.TrackFor(records.streams[work->stream], work->begin, work->end, tracer),
        .name = records.names[work->name],
        .begin = work->begin,
        .end = work->end};
    if (work->launch < launches.size()) {
      span.numbers.emplace_back("step", launches[work->launch].step);
    }
    if (work->bytes > 0) span.numbers.emplace_back("bytes", work->bytes);
    if (work->in_graph) span.numbers.emplace_back("in_graph", 1);
    const auto called = first.find(work->correlation);
    if (called != first.end() && called->second == work && is_called.contains(work->correlation)) {
      span.flow_in = work->correlation;
    }
    tracer.Add(std::move(span));
  }
  AddCalls(records, first, tracer);
}

}  // namespace penstock
