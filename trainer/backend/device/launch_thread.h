// The thread that gives a device its work, and does nothing else.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_LAUNCH_THREAD_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_LAUNCH_THREAD_H_

#include <atomic>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace penstock {

// Run() by one thread at a time. Where the system starts no thread, work is done by who asks for
// it.
class LaunchThread {
 public:
  LaunchThread();
  ~LaunchThread();
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;

  // Calls `work` on the thread, and returns what it does once it has.
  absl::Status Run(absl::FunctionRef<absl::Status()> work);

 private:
  void Serve();

  Mutex mutex_;
  CondVar changed_;
  const absl::FunctionRef<absl::Status()>* work_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<bool> has_work_{false};  // As work_ says, to be looked at without the lock.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_LAUNCH_THREAD_H_
