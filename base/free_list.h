// Reuses objects together with the memory that they own.
#ifndef PENSTOCK_BASE_FREE_LIST_H_
#define PENSTOCK_BASE_FREE_LIST_H_

#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace penstock {

// Never shrinks: it holds up to as many objects as were in use at one time. Thread-safe.
template <typename T>
class FreeList {
 public:
  // Returns the object that was returned last, unchanged, or a new one if there is none.
  std::unique_ptr<T> Take() {
    if (std::unique_ptr<T> object = Pop(); object != nullptr) return object;
    return std::make_unique<T>();
  }
  // Keeps `object` for a later Take().
  void Return(std::unique_ptr<T> object) {
    MutexLock lock(&mutex_);
    free_.push_back(std::move(object));
  }

 private:
  std::unique_ptr<T> Pop() {
    MutexLock lock(&mutex_);
    if (free_.empty()) return nullptr;
    std::unique_ptr<T> object = std::move(free_.back());
    free_.pop_back();
    return object;
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<T>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_FREE_LIST_H_
