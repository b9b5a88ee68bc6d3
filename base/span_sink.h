// What threads do and when, told to who wants to know: the spans of a trace.
#ifndef PENSTOCK_BASE_SPAN_SINK_H_
#define PENSTOCK_BASE_SPAN_SINK_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace penstock {

// Shown beside a span's name: {"rows", 512}. Without `what` there is none.
struct SpanNumber {
  const char* what = nullptr;
  uint64_t value = 0;
};

// Thread-safe. It must outlive who it is given to; where they are given none, nothing is traced.
class SpanSink {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether spans are wanted now; one load.
  virtual bool active() const = 0;
  // What the calling thread is called from now on: "loader". Empty: nothing.
  virtual void NameThread(std::string name) = 0;
  // What the calling thread did. Spans of a thread may nest, and must not overlap otherwise.
  // `name` and number.what are constants.
  virtual void AddSpan(const char* name, SpanNumber number, Clock::time_point begin,
                       Clock::time_point end) = 0;

 protected:
  ~SpanSink() = default;
};

// What the calling thread is called until its destruction: another thread may get its id then.
// `spans` may be null.
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

// What the calling thread does from its construction to its destruction, if spans are wanted when
// it begins. `spans` may be null.
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
