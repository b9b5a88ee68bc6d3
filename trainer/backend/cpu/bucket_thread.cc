#include "trainer/backend/cpu/bucket_thread.h"

#include <utility>

#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<BucketThread>> BucketThread::Start(
    std::function<absl::Status(size_t)> task) {
  std::unique_ptr<BucketThread> buckets(new BucketThread(std::move(task)));
  PENSTOCK_ASSIGN_OR_RETURN(buckets->thread_, StartThread("that exchanges gradients",
                                                          [it = buckets.get()] { it->Serve(); }));
  return buckets;
}

BucketThread::~BucketThread() {
  MutexLock lock(&mutex_);
  closing_ = true;
  changed_.NotifyAll();
}

void BucketThread::Begin(size_t buckets, size_t parts) {
  MutexLock lock(&mutex_);
  unfinished_.assign(buckets, parts);
  next_ = 0;
  status_ = absl::OkStatus();
}

void BucketThread::Finish(size_t bucket) {
  MutexLock lock(&mutex_);
  if (--unfinished_[bucket] == 0) changed_.NotifyAll();
}

absl::Status BucketThread::Wait() {
  MutexLock lock(&mutex_);
  while (next_ < unfinished_.size()) changed_.Wait(&mutex_);
  return std::exchange(status_, absl::OkStatus());
}

void BucketThread::Serve() {
  while (true) {
    size_t bucket = 0;
    bool runs = true;
    {
      MutexLock lock(&mutex_);
      while (!closing_ && (next_ == unfinished_.size() || unfinished_[next_] > 0)) {
        changed_.Wait(&mutex_);
      }
      if (closing_) return;
      bucket = next_;
      runs = status_.ok();
    }
    absl::Status status = runs ? task_(bucket) : absl::OkStatus();
    MutexLock lock(&mutex_);
    if (status_.ok()) status_ = std::move(status);
    if (++next_ == unfinished_.size()) changed_.NotifyAll();
  }
}

}  // namespace penstock
