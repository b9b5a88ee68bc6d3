// Lets a signal, or the loss of another rank, end a training that may be waiting for input.
#ifndef PENSTOCK_TRAINER_APP_STOPPER_H_
#define PENSTOCK_TRAINER_APP_STOPPER_H_

#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "trainer/input/input.h"
#include "trainer/input/loader_input.h"

namespace penstock {

// Ends a training from another thread: sets a flag, and closes the inputs in use and all later
// ones, so that no wait for input continues. Thread-safe.
class Stopper {
 public:
  // Stops the training, as after a signal.
  void Stop() {
    stopping_.store(true);
    MutexLock lock(&mutex_);
    CloseAll();
  }
  // Makes the inputs end with `why`. Only the first error counts.
  void Fail(const absl::Status& why) {
    MutexLock lock(&mutex_);
    failure_.Update(why);
    CloseAll();
  }
  // `input` must stay alive until Forget().
  void Watch(Input& input) {
    MutexLock lock(&mutex_);
    inputs_.insert(&input);
    if (stopping_.load() || !failure_.ok()) input.Close();
  }
  void Forget(Input& input) {
    MutexLock lock(&mutex_);
    inputs_.erase(&input);
  }
  bool stopping() const { return stopping_.load(); }
  absl::Status failure() const {
    MutexLock lock(&mutex_);
    return failure_;
  }

 private:
  void CloseAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (Input* input : inputs_) input->Close();
  }

  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;
  std::set<Input*> inputs_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

// A loader's batches, until the training stops or fails. `stopper` must outlive this object.
class StoppableInput final : public LoaderInput {
 public:
  StoppableInput(std::unique_ptr<Loader> loader, Stopper& stopper)
      : LoaderInput(std::move(loader)), stopper_(stopper) {
    stopper_.Watch(*this);
  }
  ~StoppableInput() override { stopper_.Forget(*this); }

  // Once closed, returns the stopper's failure if there is one.
  absl::StatusOr<bool> Next(InputBatch& batch) override {
    absl::StatusOr<bool> more = LoaderInput::Next(batch);
    if (!absl::IsCancelled(more.status())) return more;
    const absl::Status why = stopper_.failure();
    return why.ok() ? more : why;
  }

 private:
  Stopper& stopper_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_STOPPER_H_
