// How a signal ends a training that may be waiting for input.
#ifndef PENSTOCK_TRAINER_APP_STOPPER_H_
#define PENSTOCK_TRAINER_APP_STOPPER_H_

#include <atomic>

#include "records/base/mutex.h"
#include "trainer/input.h"

namespace penstock {

// Stops a training from the signal's thread: sets a mark, and closes the input in use so that a
// wait for it ends. Thread-safe.
class Stopper {
 public:
  void Stop() {
    stopping_.store(true);
    MutexLock lock(&mutex_);
    if (input_ != nullptr) input_->Close();
  }
  // Null: none is in use. `input` must stay until another one is watched.
  void Watch(Input* input) {
    MutexLock lock(&mutex_);
    input_ = input;
    if (input_ != nullptr && stopping_.load()) input_->Close();
  }
  bool stopping() const { return stopping_.load(); }

 private:
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  Input* input_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_STOPPER_H_
