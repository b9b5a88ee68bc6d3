// Ends a communicator from a thread of its own, because its user may be blocked in it.
#ifndef PENSTOCK_TRAINER_CUDA_NCCL_ABORTER_H_
#define PENSTOCK_TRAINER_CUDA_NCCL_ABORTER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace penstock {

// The thread is started early, because starting it may fail after an exchange breaks. It ends one
// communicator, once. Not thread-safe: only one thread may use this at a time.
class NcclAborter {
 public:
  // kResourceExhausted: no thread can be started.
  static absl::StatusOr<std::unique_ptr<NcclAborter>> Start();
  // Waits for an `end` that is running.
  ~NcclAborter();
  NcclAborter(const NcclAborter&) = delete;
  NcclAborter& operator=(const NcclAborter&) = delete;

  // Runs `end` on the thread, and returns at once. Returns false, and does nothing, if Guard() has
  // ended a call.
  bool Abort(std::function<void()> end);
  // Waits until the `end` of Abort() or Guard() has returned.
  void Join();

  // Returns the result of `call`, which may block. While it does, the thread calls `look` every few
  // milliseconds. If that returns an error, it runs `end`, which must make `call` return; the
  // result is then that error. The first look comes after a while, so that `end` finds `call`
  // inside NCCL and not just before it.
  absl::Status Guard(absl::FunctionRef<absl::Status()> look, std::function<void()> end,
                     absl::FunctionRef<absl::Status()> call);

 private:
  struct Watched {
    absl::FunctionRef<absl::Status()> look;
    std::function<void()> end;
    std::chrono::steady_clock::time_point next_look;
  };

  NcclAborter() = default;
  void Run();
  // Waits for an `end` to run; null if there will be none.
  std::function<void()> NextEnd();

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> end_ ABSL_GUARDED_BY(mutex_);
  std::optional<Watched> watched_ ABSL_GUARDED_BY(mutex_);
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_NCCL_ABORTER_H_
