// A thread that only queues a device's work.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_LAUNCH_THREAD_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_LAUNCH_THREAD_H_

#include <atomic>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace penstock {

// One thread at a time may call Run(). If the system cannot start the thread, Run() does the work
// in the calling thread.
class LaunchThread {
 public:
  LaunchThread();
  ~LaunchThread();
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;

  // Calls `work` on the thread, waits for it, and returns its result.
  absl::Status Run(absl::FunctionRef<absl::Status()> work);

 private:
  void Serve();

  Mutex mutex_;
  CondVar changed_;
  const absl::FunctionRef<absl::Status()>* work_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<bool> has_work_{false};  // Whether work_ is set, readable without the lock.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_LAUNCH_THREAD_H_
