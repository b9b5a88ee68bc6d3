// Spans of time by track, as a file that chrome://tracing and ui.perfetto.dev open.
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

// Tracks from here on belong to threads that say themselves what they do.
inline constexpr uint32_t kFirstThreadTrack = 3000;

// Keeps spans while it is active, kMaxSpans at most; inactive it costs one load. Spans of a track
// may nest, and must not overlap otherwise. Thread-safe.
class Tracer final : public SpanSink {
 public:
  using Clock = SpanSink::Clock;
  static constexpr size_t kMaxSpans = 1'000'000;

  struct Span {
    uint32_t track = 0;
    std::string name = {};
    Clock::time_point begin = {}, end = {};  // One that ends before it begins has no length.
    std::vector<std::pair<const char*, uint64_t>> numbers = {};  // Shown beside the name.
    // An arrow goes from the span that has it as `flow_out` to the one that has it as `flow_in`.
    uint64_t flow_out = 0, flow_in = 0;
  };

  void SetActive(bool active) { active_.store(active, std::memory_order_relaxed); }
  bool active() const override { return active_.load(std::memory_order_relaxed); }

  // A host thread, or a stream of a device.
  void NameTrack(uint32_t track, std::string name);
  void Add(uint32_t track, std::string name, Clock::time_point begin, Clock::time_point end) {
    Add({.track = track, .name = std::move(name), .begin = begin, .end = end});
  }
  void Add(Span span);

  // A thread has a track from its first span on; "thread N" if it has not said what it is called.
  void NameThread(std::string name) override;
  void AddSpan(const char* name, SpanNumber number, Clock::time_point begin,
               Clock::time_point end) override;

  size_t num_spans() const;
  uint64_t num_left_out() const;  // Those beyond kMaxSpans.
  // The Trace Event Format, "JSON Object Format", with complete events in order of their begin, of
  // those that begin together the longest first.
  // Files whose `pid` differ can be shown together.
  std::string ToJson(absl::string_view process, uint32_t pid = 1) const;

 private:
  struct Thread {
    std::string name = {};
    uint32_t track = 0;  // 0: it has none yet.
  };

  // Of the calling thread.
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

// From its construction to its destruction. `tracer` may be null; `name` must outlive it.
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
