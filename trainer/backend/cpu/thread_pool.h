// N threads that divide the indices of a loop among themselves.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_THREAD_POOL_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_THREAD_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace penstock {

// The calling thread is one of the workers. Not thread-safe: one loop at a time.
class ThreadPool {
 public:
  // kResourceExhausted: a thread could not be started. REQUIRES: threads > 0.
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Start(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t threads() const { return workers_.size() + 1; }

  // Calls body(worker, index) for every index below `count`, with worker < threads(). Returns when
  // all calls have returned. The assignment of indices to workers is unspecified.
  void ParallelFor(size_t count, absl::FunctionRef<void(size_t worker, size_t index)> body);

 private:
  using Body = absl::FunctionRef<void(size_t, size_t)>;

  ThreadPool() = default;

  void Serve(size_t worker);
  void TakeIndices(size_t worker, const Body& body, size_t count);

  Mutex mutex_;
  CondVar started_;
  CondVar finished_;
  const Body* body_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t loop_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of loops begun.
  size_t busy_ ABSL_GUARDED_BY(mutex_) = 0;    // Workers that have not finished this loop.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<size_t> next_{0};
  std::vector<std::jthread> workers_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_THREAD_POOL_H_
