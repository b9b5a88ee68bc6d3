// Records spans, thread by thread.
#ifndef PENSTOCK_TESTS_RECORDED_SPANS_H_
#define PENSTOCK_TESTS_RECORDED_SPANS_H_

#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/span_sink.h"

namespace penstock {

// Records spans until set_active(false). Thread-safe.
class RecordedSpans final : public SpanSink {
 public:
  bool active() const override {
    MutexLock lock(&mutex_);
    return active_;
  }
  void set_active(bool active) {
    MutexLock lock(&mutex_);
    active_ = active;
  }
  void NameThread(std::string name) override {
    MutexLock lock(&mutex_);
    threads_[std::this_thread::get_id()] = std::move(name);
  }
  void AddSpan(const char* name, SpanNumber, Clock::time_point begin,
               Clock::time_point end) override {
    MutexLock lock(&mutex_);
    names_[threads_[std::this_thread::get_id()]].insert(name);
    in_order_ &= begin <= end;
  }

  // Returns the names of spans of the threads of this name, each once.
  std::set<std::string> Of(const std::string& thread) const {
    MutexLock lock(&mutex_);
    const auto found = names_.find(thread);
    return found == names_.end() ? std::set<std::string>() : found->second;
  }
  bool empty() const {
    MutexLock lock(&mutex_);
    return names_.empty();
  }
  // Whether no span ended before it began.
  bool in_order() const {
    MutexLock lock(&mutex_);
    return in_order_;
  }

 private:
  mutable Mutex mutex_;
  bool active_ ABSL_GUARDED_BY(mutex_) = true;
  bool in_order_ ABSL_GUARDED_BY(mutex_) = true;
  std::map<std::thread::id, std::string> threads_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::set<std::string>> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_RECORDED_SPANS_H_
