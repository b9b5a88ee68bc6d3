// Reads calls with one request: statistics, manifests, health.
#ifndef PENSTOCK_SERVER_REQUEST_REACTOR_H_
#define PENSTOCK_SERVER_REQUEST_REACTOR_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/server_callback.h"
#include "server/call_reactor.h"

namespace penstock {

// Cancels a call that has not completed something in time. Stops when it is destroyed, which must
// be before the call is over. Thread-safe.
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
    // Null once it is stopped.
    grpc::CallbackServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;
  };

  const std::shared_ptr<Call> call_;  // Shared with the alarm, which may end later.
  grpc::Alarm alarm_;
};

// Reads the request, and cancels a call whose request does not arrive in time. Owns itself until
// OnDone().
class RequestReactor : public CallReactor {
 public:
  // Starts to read. After this, gRPC may call its functions. Returns itself, for gRPC.
  CallReactor* Start() {
    StartRead(&request_);
    return this;
  }

 protected:
  RequestReactor(OpenCall call, grpc::CallbackServerContext& context, absl::Duration timeout)
      : call_(std::move(call)), deadline_(context, timeout) {}

  // Called once. This function, or code that it starts, must finish the call.
  virtual void OnRequest(grpc::ByteBuffer& request) = 0;

  void OnCancel() override { cancelled_ = true; }
  // Whether the client is gone, or the request did not arrive in time.
  bool cancelled() const { return cancelled_; }
  void OnDone() override {
    CountAnswer();
    delete this;
  }
  // For a subclass with its own OnDone(): counts a call whose answer the client received.
  void CountAnswer() {
    deadline_.Stop();
    if (!cancelled_) call_.account().OnAnswered();
  }

  bool Parse(grpc::ByteBuffer& request, google::protobuf::MessageLite& message) {
    grpc::ProtoBufferReader bytes(&request);
    if (message.ParseFromZeroCopyStream(&bytes)) return true;
    Finish({grpc::StatusCode::INVALID_ARGUMENT,
            "the request is not a valid protobuf message of its type"});
    return false;
  }
  void AnswerWith(const google::protobuf::MessageLite& message) {
    answer_ = ToByteBuffer(message);
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }
  ConnectionAccount& account() const { return call_.account(); }

 private:
  void OnReadDone(bool ok) final {
    deadline_.Stop();
    call_.OnRequest();
    if (ok) {
      OnRequest(request_);
    } else {
      Finish({grpc::StatusCode::INVALID_ARGUMENT,
              "the client ended the call before it sent a request"});
    }
  }

  OpenCall call_;
  CallDeadline deadline_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_REQUEST_REACTOR_H_
