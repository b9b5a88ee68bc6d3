// Reports what threads do, and when, as the spans of a trace.
#ifndef PENSTOCK_BASE_SPAN_SINK_H_
#define PENSTOCK_BASE_SPAN_SINK_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace penstock {

// A number that is shown beside a span's name: {"rows", 512}. If `what` is null, no number is
// shown.
struct SpanNumber {
  const char* what = nullptr;
  uint64_t value = 0;
};

// Receives spans. It must outlive every object that it is given to. An object without a SpanSink
// traces nothing. Thread-safe.
class SpanSink {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether spans are wanted at the moment. Costs one load.
  virtual bool active() const = 0;
  // Names the calling thread from here on, for example "loader". "" removes the name.
  virtual void NameThread(std::string name) = 0;
  // Reports what the calling thread did. Spans of a thread may nest, but must not overlap
  // otherwise. `name` and `number.what` must be string constants.
  virtual void AddSpan(const char* name, SpanNumber number, Clock::time_point begin,
                       Clock::time_point end) = 0;

 protected:
  ~SpanSink() = default;
};

// Names the calling thread until this object is destroyed. The destructor removes the name, because
// another thread may get the same id later. `spans` may be null.
class ThreadNameScope {
 public:
  ThreadNameScope(SpanSink* spans, std::string name) : spans_(spans) {
    if (spans_ != nullptr) spans_->NameThread(std::move(name));
  }
  ~ThreadNameScope() {
    if (spans_ != nullptr) spans_->NameThread("");
  }
  ThreadNameScope(const ThreadNameScope&) = delete;
  ThreadNameScope& operator=(const ThreadNameScope&) = delete;

 private:
  SpanSink* const spans_;
};

// Reports a span from construction to destruction, if spans are wanted at construction. `spans` may
// be null.
class SpanScope {
 public:
  SpanScope(SpanSink* spans, const char* name, SpanNumber number = {})
      : spans_(spans != nullptr && spans->active() ? spans : nullptr),
        name_(name),
        number_(number) {
    if (spans_ != nullptr) begin_ = SpanSink::Clock::now();
  }
  ~SpanScope() {
    if (spans_ != nullptr) spans_->AddSpan(name_, number_, begin_, SpanSink::Clock::now());
  }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

 private:
  SpanSink* const spans_;
  const char* const name_;
  const SpanNumber number_;
  SpanSink::Clock::time_point begin_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_SPAN_SINK_H_
