// A blocking queue of fixed capacity. Closing it with a status ends it for both sides.
#ifndef PENSTOCK_BASE_BOUNDED_QUEUE_H_
#define PENSTOCK_BASE_BOUNDED_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace penstock {

// Push() blocks while the queue is full, and returns false once it is closed. Pop() returns what
// was pushed before the close, in order, then nullopt. The first Close(status) decides the status;
// OK means a clean end. Memory for `capacity` values is allocated once, in the constructor.
// Thread-safe.
template <typename T>
class BoundedQueue {
 public:
  // REQUIRES: capacity > 0.
  explicit BoundedQueue(size_t capacity) : ring_(capacity) {}

  // Blocks while the queue is full. Returns false if the queue is closed; `value` is then dropped.
  bool Push(T value) {
    MutexLock lock(&mutex_);
    while (!closed_ && size_ == ring_.size()) not_full_.Wait(&mutex_);
    if (closed_) return false;
    ring_[(head_ + size_++) % ring_.size()] = std::move(value);
    not_empty_.NotifyOne();
    return true;
  }

  // Blocks while the queue is empty and open. Returns nullopt once the queue is closed and empty.
  std::optional<T> Pop() {
    MutexLock lock(&mutex_);
    while (!closed_ && size_ == 0) not_empty_.Wait(&mutex_);
    if (size_ == 0) return std::nullopt;
    std::optional<T> value = std::exchange(ring_[head_], std::nullopt);
    head_ = (head_ + 1) % ring_.size();
    --size_;
    not_full_.NotifyOne();
    return value;
  }

  // Waits until Pop() would not block, or until `deadline`. Returns whether Pop() would not block.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(&mutex_);
    while (!closed_ && size_ == 0) {
      if (!not_empty_.WaitUntil(&mutex_, deadline)) break;
    }
    return closed_ || size_ > 0;
  }

  // Wakes blocked calls. From now on, Push() returns false, and Pop() returns what is left without
  // blocking. Calls after the first have no effect.
  void Close(absl::Status status = absl::OkStatus()) {
    MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    status_ = std::move(status);
    not_full_.NotifyAll();
    not_empty_.NotifyAll();
  }

  // Whether Pop() would block. Another thread may change that at any time.
  bool empty() const {
    MutexLock lock(&mutex_);
    return size_ == 0 && !closed_;
  }

  // OK until the queue is closed with an error.
  absl::Status status() const {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  CondVar not_full_;
  CondVar not_empty_;
  std::vector<std::optional<T>> ring_ ABSL_GUARDED_BY(mutex_);
  size_t head_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_BOUNDED_QUEUE_H_
