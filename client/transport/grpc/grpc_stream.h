// One conversation over gRPC.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_STREAM_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_STREAM_H_

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "client/transport/grpc/connection_probe.h"
#include "client/transport/grpc/grpc_payload.h"
#include "client/transport/network_options.h"
#include "client/transport/shm/shared_memory_request.h"
#include "client/transport/shm/shared_payload.h"
#include "client/transport/transport.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/client_callback.h"
#include "records/wire/client_message.h"
#include "records/wire/part_header.h"
#include "records/wire/server_message.h"

namespace penstock {

// All events come from OnReadDone() and, last, OnDone(), of which gRPC runs one at a time. Writes
// leave one at a time from a queue that the caller bounds: it asks for no more than its credit.
// Thread-safe but for the destructor.
class GrpcStream final : public Stream,
                         private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  struct Credentials {
    std::string token;              // Empty: none is sent.
    std::optional<TlsOptions> tls;  // What `channel` was made with.
  };
  // Starts to connect. `channel` is kept; `events` outlives it.
  GrpcStream(std::shared_ptr<grpc::Channel> channel, std::string address, Credentials credentials,
             const StreamOptions& options, bool shared_memory, StreamEvents& events);
  ~GrpcStream() override;

  void OpenWindow(const struct OpenWindow& window) override { Send(window); }
  void Fetch(const struct Fetch& fetch) override { Send(fetch); }
  void Cancel(uint64_t request) override { Send(wire::Cancel{request}); }
  void Release(uint64_t window) override { Send(wire::Release{window}); }

 private:
  // Of a stream that is cancelled. Ends the process if gRPC does not end it.
  void AwaitDone();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void Send(const wire::ClientMessage& message);
  // What to write now, if a write may start; the caller passes it to Write().
  std::optional<std::string> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const std::string& message);

  // A part, for the caller to hand on; all else is handled. An error ends the stream with it.
  absl::StatusOr<std::optional<ReceivedPart>> HandleMessage();
  absl::StatusOr<ReceivedPart> ToPart(wire::ParsedPartHeader part, GrpcPayloadPtr message);
  absl::StatusOr<std::unique_ptr<PartPayload, PartPayloadRecycler>> TakeShared(
      const wire::PartHeader& part);
  absl::Status HandleControl(const GrpcPayload& message);
  absl::Status Handle(const wire::ServerHello& hello);
  // All else is told as it was said.
  absl::Status Handle(StreamEvent event);
  void ReleaseHoldIfDue();
  // True: TellBroken() follows, with what the thread has found out.
  bool StartProbe(const absl::Status& broken, ProbedServer server);
  // The last event.
  void TellBroken(const absl::Status& status);

  // Asks for the pool that the server offers, if it does and we may.
  void RequestSharedMemory(const wire::ServerHello& hello);
  void UseSharedMemory(absl::StatusOr<std::shared_ptr<const SharedMapping>> mapping);

  const std::string address_;
  const uint32_t protocol_version_;
  const bool checksums_;
  const std::optional<TlsOptions> tls_;
  const bool shared_memory_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  const std::shared_ptr<GrpcPayloadPool> payloads_ = std::make_shared<GrpcPayloadPool>();

  // Of the read side.
  StreamEvents& events_;
  grpc::ByteBuffer incoming_;
  bool said_hello_ = false;  // The server.
  absl::Status fault_;       // The server's, as we found it.

  // Of the write side: touched by whoever set writing_.
  grpc::ByteBuffer outgoing_;

  Mutex mutex_;
  CondVar done_changed_;
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  bool open_ ABSL_GUARDED_BY(mutex_) = false;  // After the server's Hello, until the end.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // By our destructor.
  bool done_ ABSL_GUARDED_BY(mutex_) = false;

  std::stop_source stop_probe_;
  std::jthread probe_ ABSL_GUARDED_BY(mutex_);
  // Shared with its payloads; null until the pool is mapped.
  std::shared_ptr<SharedPayloadPool> shared_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<SharedMemoryRequest> request_;  // Of the read side. Last: it uses the above.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_STREAM_H_
