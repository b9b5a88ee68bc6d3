// Limits how many scans may hold much memory at the same time.
#ifndef PENSTOCK_RECORDS_DATASET_LARGE_BUFFERS_H_
#define PENSTOCK_RECORDS_DATASET_LARGE_BUFFERS_H_

#include <cstddef>

#include "base/mutex.h"

namespace penstock {

// Places for large buffers. A scan takes one place for the largest buffer that it may need, and
// never a second one. So scans that have a place can run to their end, and scans that wait will get
// one.
// Thread-safe.
class LargeBuffers {
 public:
  // REQUIRES: places > 0.
  explicit LargeBuffers(size_t places) : free_(places) {}

  // Waits for a place, and holds it during its lifetime. `buffers` must outlive it.
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
