// The form that every call has for gRPC: messages of raw bytes in both directions.
#ifndef PENSTOCK_SERVER_CALL_REACTOR_H_
#define PENSTOCK_SERVER_CALL_REACTOR_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/status.h"
#include "server/guard/connection_account.h"

namespace penstock {

// absl::Status and grpc::Status number their codes in the same way.
inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

// gRPC starts a call of this kind once its headers are complete. It starts other kinds only once it
// has their request, and could hold any number of them before any code of ours sees one.
using CallReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

inline grpc::ByteBuffer ToByteBuffer(const std::string& serialized) {
  const grpc::Slice slice(serialized);
  return grpc::ByteBuffer(&slice, 1);
}
inline grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  return ToByteBuffer(message.SerializeAsString());
}

// Refuses a call as soon as it begins. Owns itself. A call that the client cancelled counts as
// unanswered, so that a flood of reset calls does not look like work.
class RefusedCall final : public CallReactor {
 public:
  RefusedCall(OpenCall call, const absl::Status& cause) : call_(std::move(call)) {
    call_.OnRequest();  // The call does not wait for its request.
    Finish(ToGrpcStatus(cause));
  }

 private:
  // gRPC calls this before OnDone().
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override {
    if (!cancelled_) call_.account().OnAnswered();
    delete this;
  }

  OpenCall call_;
  bool cancelled_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_CALL_REACTOR_H_
