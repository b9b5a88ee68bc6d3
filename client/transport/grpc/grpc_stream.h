// One stream over gRPC.
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

// All events come from OnReadDone() and, last, from OnDone(); gRPC runs one of them at a time.
// Writes are sent one at a time from a queue. The caller bounds the queue by requesting no more
// than its credit. Thread-safe, except for the destructor.
class GrpcStream final : public Stream,
                         private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  struct Credentials {
    std::string token;              // If it is empty, no token is sent.
    std::optional<TlsOptions> tls;  // The options with which `channel` was made.
  };
  // Starts to connect. Keeps a reference to `channel`. `events` must outlive the stream.
  GrpcStream(std::shared_ptr<grpc::Channel> channel, std::string address, Credentials credentials,
             const StreamOptions& options, bool shared_memory, StreamEvents& events);
  ~GrpcStream() override;

  void OpenWindow(const struct OpenWindow& window) override { Send(window); }
  void Fetch(const struct Fetch& fetch) override { Send(fetch); }
  void Cancel(uint64_t request) override { Send(wire::Cancel{request}); }
  void Release(uint64_t window) override { Send(wire::Release{window}); }

 private:
  // Waits for the end of a cancelled stream. Ends the process if gRPC does not end the stream.
  void AwaitDone();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void Send(const wire::ClientMessage& message);
  // Returns the message to write next, if a write may start. The caller passes it to Write().
  std::optional<std::string> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const std::string& message);

  // Returns a part, which the caller must pass on; handles every other message. An error ends the
  // stream with that error.
  absl::StatusOr<std::optional<ReceivedPart>> HandleMessage();
  absl::StatusOr<ReceivedPart> ToPart(wire::ParsedPartHeader part, GrpcPayloadPtr message);
  absl::StatusOr<std::unique_ptr<PartPayload, PartPayloadRecycler>> TakeShared(
      const wire::PartHeader& part);
  absl::Status HandleControl(const GrpcPayload& message);
  absl::Status Handle(const wire::ServerHello& hello);
  // Passes all other events on unchanged.
  absl::Status Handle(StreamEvent event);
  void ReleaseHoldIfDue();
  // Returns true if TellBroken() follows, with the result of the probe.
  bool StartProbe(const absl::Status& broken, ProbedServer server);
  // Reports the last event.
  void TellBroken(const absl::Status& status);

  // Requests the pool that the server offers, if it offers one and we may use it.
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

  // Only the read side uses it.
  StreamEvents& events_;
  grpc::ByteBuffer incoming_;
  bool said_hello_ = false;  // Whether the server's Hello has come.
  absl::Status fault_;       // The fault that we found in the server's messages.

  // Only the write side uses it: the thread that set writing_.
  grpc::ByteBuffer outgoing_;

  Mutex mutex_;
  CondVar done_changed_;
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  bool open_ ABSL_GUARDED_BY(mutex_) = false;  // True from the server's Hello until the end.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // Set by the destructor.
  bool done_ ABSL_GUARDED_BY(mutex_) = false;

  std::stop_source stop_probe_;
  std::jthread probe_ ABSL_GUARDED_BY(mutex_);
  // Shared with its payloads. Null until the pool is mapped.
  std::shared_ptr<SharedPayloadPool> shared_ ABSL_GUARDED_BY(mutex_);

  // Only the read side uses it. Last member: it uses the above.
  std::unique_ptr<SharedMemoryRequest> request_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_STREAM_H_
