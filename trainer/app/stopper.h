// How a signal, or the loss of another rank, ends a training that may be waiting for input.
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

// Ends a training from another thread: sets a mark, and closes the inputs in use, and those that
// come later, so that a wait for one ends. Thread-safe.
class Stopper {
 public:
  // As a signal asks for.
  void Stop() {
    stopping_.store(true);
    MutexLock lock(&mutex_);
    CloseAll();
  }
  // What the inputs then end with. The first counts.
  void Fail(const absl::Status& why) {
    MutexLock lock(&mutex_);
    failure_.Update(why);
    CloseAll();
  }
  // `input` must stay until Forget().
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

// A loader's batches until the training stops or fails. `stopper` must outlive it.
class StoppableInput final : public LoaderInput {
 public:
  StoppableInput(std::unique_ptr<Loader> loader, Stopper& stopper)
      : LoaderInput(std::move(loader)), stopper_(stopper) {
    stopper_.Watch(*this);
  }
  ~StoppableInput() override { stopper_.Forget(*this); }

  // Closed: the failure of the stopper, if there is one.
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
