// Records time spans by track, in a file that chrome://tracing and ui.perfetto.dev open.
#ifndef PENSTOCK_TRAINER_PROFILE_TRACER_H_
#define PENSTOCK_TRAINER_PROFILE_TRACER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/span_sink.h"

namespace penstock {

// Tracks from this number on belong to threads that name themselves.
inline constexpr uint32_t kFirstThreadTrack = 3000;

// While active, keeps up to kMaxSpans spans. While inactive, a span costs one load. Spans of a
// track may nest, but must not overlap otherwise. Thread-safe.
class Tracer final : public SpanSink {
 public:
  using Clock = SpanSink::Clock;
  static constexpr size_t kMaxSpans = 1'000'000;

  struct Span {
    uint32_t track = 0;
    std::string name = {};
    Clock::time_point begin = {}, end = {};  // If `end` is before `begin`, the length is zero.
    std::vector<std::pair<const char*, uint64_t>> numbers = {};  // Shown beside the name.
    // An arrow goes from the span with this ID as `flow_out` to the span with it as `flow_in`.
    uint64_t flow_out = 0, flow_in = 0;
  };

  void SetActive(bool active) { active_.store(active, std::memory_order_relaxed); }
  bool active() const override { return active_.load(std::memory_order_relaxed); }

  // Names the track of a host thread or of a device's stream.
  void NameTrack(uint32_t track, std::string name);
  void Add(uint32_t track, std::string name, Clock::time_point begin, Clock::time_point end) {
    Add({.track = track, .name = std::move(name), .begin = begin, .end = end});
  }
  void Add(Span span);

  // A thread gets a track with its first span, named "thread N" unless it was named.
  void NameThread(std::string name) override;
  void AddSpan(const char* name, SpanNumber number, Clock::time_point begin,
               Clock::time_point end) override;

  size_t num_spans() const;
  uint64_t num_left_out() const;  // Number of spans beyond kMaxSpans.
  // The Trace Event Format, "JSON Object Format", with complete events in order of their begin. If
  // events begin together, the longest comes first. Files with different `pid` can be shown
  // together.
  std::string ToJson(absl::string_view process, uint32_t pid = 1) const;

 private:
  struct Thread {
    std::string name = {};
    uint32_t track = 0;  // Number of the thread's track; 0 if it has none yet.
  };

  // The track of the calling thread.
  uint32_t TrackOfThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(Span span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<bool> active_{false};
  mutable Mutex mutex_;
  std::map<std::thread::id, Thread> threads_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_thread_track_ ABSL_GUARDED_BY(mutex_) = kFirstThreadTrack;
  std::map<uint32_t, std::string> tracks_ ABSL_GUARDED_BY(mutex_);
  std::vector<Span> spans_ ABSL_GUARDED_BY(mutex_);
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A span that lasts as long as this object. `tracer` may be null; `name` must outlive this object.
class TraceScope {
 public:
  TraceScope(Tracer* tracer, uint32_t track, absl::string_view name)
      : tracer_(tracer != nullptr && tracer->active() ? tracer : nullptr),
        track_(track),
        name_(name) {
    if (tracer_ != nullptr) begin_ = Tracer::Clock::now();
  }
  ~TraceScope() {
    if (tracer_ != nullptr) tracer_->Add(track_, std::string(name_), begin_, Tracer::Clock::now());
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Tracer* tracer_;
  uint32_t track_;
  absl::string_view name_;
  Tracer::Clock::time_point begin_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_PROFILE_TRACER_H_
