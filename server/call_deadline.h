// Cancels a call that is not done with something in time.
#ifndef PENSTOCK_SERVER_CALL_DEADLINE_H_
#define PENSTOCK_SERVER_CALL_DEADLINE_H_

#include <memory>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/server_callback.h"
#include "records/base/mutex.h"

namespace penstock {

// Stops when it is destroyed, which has to be before the call is over. Thread-safe.
class CallDeadline {
 public:
  CallDeadline(grpc::CallbackServerContext& context, absl::Duration timeout)
      : call_(std::make_shared<Call>()) {
    {
      MutexLock lock(&call_->mutex);
      call_->context = &context;
    }
    alarm_.Set(absl::ToChronoTime(absl::Now() + timeout), [call = call_](bool) {
      MutexLock lock(&call->mutex);
      if (call->context != nullptr) call->context->TryCancel();
    });
  }
  ~CallDeadline() { Stop(); }

  void Stop() {
    {
      MutexLock lock(&call_->mutex);
      call_->context = nullptr;
    }
    alarm_.Cancel();
  }

 private:
  struct Call {
    Mutex mutex;
    grpc::CallbackServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;  // Null: stopped.
  };

  const std::shared_ptr<Call> call_;  // Shared with the alarm, which may end later.
  grpc::Alarm alarm_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CALL_DEADLINE_H_
