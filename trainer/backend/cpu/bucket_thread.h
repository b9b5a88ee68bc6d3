// A thread that processes each bucket of a step as soon as all parts of the work have finished it.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_BUCKET_THREAD_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_BUCKET_THREAD_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace penstock {

// Begin() and Wait() must be called by one thread; Finish() may be called by any thread.
class BucketThread {
 public:
  // Calls `task` on the thread for one bucket after the other, from 0 on. kResourceExhausted: the
  // thread could not be started.
  static absl::StatusOr<std::unique_ptr<BucketThread>> Start(
      std::function<absl::Status(size_t bucket)> task);
  // REQUIRES: no round is under way.
  ~BucketThread();

  // Begins a round. Each of `buckets` buckets waits for `parts` calls of Finish(). REQUIRES: the
  // previous round was waited for; parts > 0.
  void Begin(size_t buckets, size_t parts);
  void Finish(size_t bucket);
  // Ends the round and returns the first error of a task, after which no other task is called.
  // REQUIRES: every bucket is finished, or will be by other threads.
  absl::Status Wait();

 private:
  explicit BucketThread(std::function<absl::Status(size_t)> task) : task_(std::move(task)) {}
  void Serve();

  const std::function<absl::Status(size_t)> task_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<size_t> unfinished_ ABSL_GUARDED_BY(mutex_);  // Unfinished parts of each bucket.
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;                 // First bucket whose task is not done.
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_BUCKET_THREAD_H_
