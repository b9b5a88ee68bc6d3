// How many scans may hold much memory at once.
#ifndef PENSTOCK_RECORDS_DATASET_LARGE_BUFFERS_H_
#define PENSTOCK_RECORDS_DATASET_LARGE_BUFFERS_H_

#include <cstddef>

#include "base/mutex.h"

namespace penstock {

// Places for large buffers. A scan takes one for the largest buffer that it may come to need and
// never a second one, so those that have one go on to their end, and those that wait get theirs.
// Thread-safe.
class LargeBuffers {
 public:
  // REQUIRES: places > 0.
  explicit LargeBuffers(size_t places) : free_(places) {}

  // Waits for a place and holds it while it lives. `buffers` must outlive it.
  class Place {
   public:
    explicit Place(LargeBuffers& buffers) : buffers_(buffers) { buffers_.Take(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { buffers_.Return(); }

   private:
    LargeBuffers& buffers_;
  };

  size_t num_waiting() const {
    MutexLock lock(&mutex_);
    return waiting_;
  }

 private:
  void Take() {
    MutexLock lock(&mutex_);
    ++waiting_;
    while (free_ == 0) returned_.Wait(&mutex_);
    --waiting_;
    --free_;
  }

  void Return() {
    MutexLock lock(&mutex_);
    ++free_;
    returned_.NotifyOne();
  }

  mutable Mutex mutex_;
  CondVar returned_;
  size_t free_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_LARGE_BUFFERS_H_
