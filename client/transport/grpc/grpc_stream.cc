#include "client/transport/grpc/grpc_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "client/transport/grpc/broken_status.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "records/wire/shared_memory.h"

namespace penstock {
namespace {

constexpr absl::Duration kStreamProbeTimeout = absl::Seconds(3);

// A cancelled stream ends at once. The wait for it is made of short steps, so that a process that
// was stopped does not count that time as gRPC's.
constexpr std::chrono::milliseconds kDoneStep{100};
constexpr int kMostDoneSteps = 600;

// A fault that we found in the server's messages becomes kFailedPrecondition. The server's own
// INVALID_ARGUMENT means something else: it refuses what we say, and any other server would too.
absl::Status AsNonsense(const absl::Status& fault) {
  if (!absl::IsInvalidArgument(fault)) return fault;
  return absl::FailedPreconditionError(fault.message());
}

// Ends the process. gRPC reports no error when it cannot start its threads; then no stream ends,
// and neither would the process.
[[noreturn]] void EndWithoutGrpc(const std::string& address) {
  PrintEscaped(
      stderr,
      "%s: gRPC could not start its threads, so a cancelled stream does not end; aborting this "
      "process. Raise the limits of address space (ulimit -v) and of threads (ulimit -u, "
      "pids.max)\n",
      address);
  std::abort();
}

// Headers are short, except those that name many rows.
absl::StatusOr<std::optional<wire::ParsedPartHeader>> ParseStart(const GrpcPayload& message) {
  uint8_t start[wire::kPartHeaderWindow];
  const std::span<uint8_t> seen(start, std::min(message.size(), sizeof start));
  message.CopyTo(0, seen);
  auto parsed = wire::ParsePartHeader(seen, message.size());
  if (!absl::IsOutOfRange(parsed.status())) return parsed;
  std::vector<uint8_t> all(message.size());
  message.CopyTo(0, all);
  return wire::ParsePartHeader(all, message.size());
}

}  // namespace

GrpcStream::GrpcStream(std::shared_ptr<grpc::Channel> channel, std::string address,
                       Credentials credentials, const StreamOptions& options, bool shared_memory,
                       StreamEvents& events)
    : address_(std::move(address)),
      protocol_version_(wire::ProtocolVersionOf(options)),
      checksums_(options.checksums),
      tls_(std::move(credentials.tls)),
      shared_memory_(shared_memory),
      channel_(std::move(channel)),
      stub_(channel_),
      events_(events) {
  if (!credentials.token.empty()) {
    context_.AddMetadata("authorization", absl::StrCat("Bearer ", credentials.token));
  }
  {
    MutexLock lock(&mutex_);
    writing_ = true;
  }
  stub_.PrepareBidiStreamingCall(&context_, "/penstock.v1.PieceService/Pieces", {}, this);
  AddHold();  // Writes start outside of reactions.
  StartRead(&incoming_);
  Write(wire::Encode(wire::ClientHello{protocol_version_, options}));
  StartCall();
}

void GrpcStream::AwaitDone() {
  MutexLock lock(&mutex_);
  for (int steps = 0; !done_; ++steps) {
    if (steps == kMostDoneSteps) EndWithoutGrpc(address_);
    done_changed_.WaitUntil(&mutex_, std::chrono::steady_clock::now() + kDoneStep);
  }
}

GrpcStream::~GrpcStream() {
  {
    MutexLock lock(&mutex_);
    closing_ = true;
    open_ = false;
  }
  context_.TryCancel();
  stop_probe_.request_stop();
  std::shared_ptr<SharedPayloadPool> shared;
  AwaitDone();
  request_.reset();
  {
    MutexLock lock(&mutex_);
    shared = std::move(shared_);
  }
  if (shared != nullptr) shared->Close();
}

void GrpcStream::Send(const wire::ClientMessage& message) {
  std::string bytes = wire::Encode(message);
  std::optional<std::string> next;
  {
    MutexLock lock(&mutex_);
    if (read_ended_ || closing_) return;
    queue_.push_back(std::move(bytes));
    next = TakeNext();
  }
  if (next.has_value()) Write(*next);
}

std::optional<std::string> GrpcStream::TakeNext() {
  if (!open_ || writing_ || queue_.empty()) return std::nullopt;
  writing_ = true;
  std::string next = std::move(queue_.front());
  queue_.pop_front();
  return next;
}

void GrpcStream::Write(const std::string& message) {
  grpc::Slice slice(message);
  outgoing_ = grpc::ByteBuffer(&slice, 1);
  StartWrite(&outgoing_);
}

void GrpcStream::OnWriteDone(bool ok) {
  std::optional<std::string> next;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) open_ = false;
    next = TakeNext();
  }
  if (next.has_value()) Write(*next);
  ReleaseHoldIfDue();
}

void GrpcStream::OnReadDone(bool ok) {
  if (ok) {
    absl::StatusOr<std::optional<ReceivedPart>> part = HandleMessage();
    if (part.ok()) {
      // Read the next message while this part is copied. Only parts overlap in this way.
      StartRead(&incoming_);
      if (part->has_value()) events_.OnPart(**std::move(part));
      return;
    }
    fault_ = AsNonsense(part.status());
    context_.TryCancel();
  }
  {
    MutexLock lock(&mutex_);
    read_ended_ = true;
    open_ = false;
    queue_.clear();
  }
  ReleaseHoldIfDue();
}

// The last write must be over, because gRPC may call OnDone() as soon as nothing holds the call.
void GrpcStream::ReleaseHoldIfDue() {
  {
    MutexLock lock(&mutex_);
    if (!read_ended_ || writing_ || !held_) return;
    held_ = false;
  }
  RemoveHold();
}

void GrpcStream::OnDone(const grpc::Status& status) {
  if (!fault_.ok()) return TellBroken(Annotate(fault_, address_));
  absl::Status broken = BrokenStatus(address_, status);
  // The token of an open stream was revoked. A new stream uses the token that the file has then.
  if (said_hello_ && absl::IsUnauthenticated(broken)) {
    broken = absl::UnavailableError(broken.message());
  }
  if (said_hello_ || !MayBeTls(status)) return TellBroken(broken);
  if (!StartProbe(broken, ProbedServerOf(address_, tls_, status))) TellBroken(broken);
}

bool GrpcStream::StartProbe(const absl::Status& broken, ProbedServer server) {
  // Hold the lock until probe_ is set, because TellBroken() lets our destructor go on.
  MutexLock lock(&mutex_);
  auto probe = StartThread(
      "that finds out why a connection failed", [this, broken, server = std::move(server)] {
        const std::string cause =
            ProbeConnection(server, tls_, kStreamProbeTimeout, stop_probe_.get_token());
        TellBroken(WithCause(address_, broken, cause));
      });
  if (probe.ok()) probe_ = *std::move(probe);
  return probe.ok();
}

void GrpcStream::TellBroken(const absl::Status& status) {
  bool tell = false;
  {
    MutexLock lock(&mutex_);
    tell = !closing_;
  }
  if (tell) events_.OnEvent(StreamBroken{status});
  MutexLock lock(&mutex_);
  done_ = true;
  done_changed_.NotifyAll();
}

absl::StatusOr<std::optional<ReceivedPart>> GrpcStream::HandleMessage() {
  {
    MutexLock lock(&mutex_);
    if (closing_) return absl::CancelledError("closing");
  }
  GrpcPayloadPtr message = payloads_->Take(incoming_);
  PENSTOCK_ASSIGN_OR_RETURN(std::optional<wire::ParsedPartHeader> part, ParseStart(*message));
  if (!part.has_value()) {
    PENSTOCK_RETURN_IF_ERROR(HandleControl(*message));
    return std::nullopt;
  }
  if (!said_hello_) return absl::FailedPreconditionError("the server sent a part before its Hello");
  if (checksums_ && !part->header.crc32c.has_value()) {
    return absl::FailedPreconditionError(
        "the server sent a part without the checksum that was asked for");
  }
  return ToPart(*std::move(part), std::move(message));
}

absl::StatusOr<ReceivedPart> GrpcStream::ToPart(wire::ParsedPartHeader part,
                                                GrpcPayloadPtr message) {
  ReceivedPart received{.request = part.header.request,
                        .first_row = part.header.first_row,
                        .rows = part.header.rows,
                        .crc32c = part.header.crc32c,
                        .payload = nullptr,
                        .replaced = std::move(part.header.replaced),
                        .image_notes = std::move(part.header.image_notes)};
  if (part.header.shared_size > 0) {
    PENSTOCK_ASSIGN_OR_RETURN(received.payload, TakeShared(part.header));
  } else {
    GrpcPayloadPool::Skip(*message, part.data_offset);
    received.payload.reset(message.release());
  }
  return received;
}

absl::StatusOr<std::unique_ptr<PartPayload, PartPayloadRecycler>> GrpcStream::TakeShared(
    const wire::PartHeader& part) {
  std::shared_ptr<SharedPayloadPool> shared;
  {
    MutexLock lock(&mutex_);
    shared = shared_;
  }
  if (shared == nullptr) {
    return absl::FailedPreconditionError(
        "the server sent a part in shared memory that this client has not mapped");
  }
  return shared->Take(part.shared_offset, part.shared_size);
}

void GrpcStream::RequestSharedMemory(const wire::ServerHello& hello) {
  if (!shared_memory_ || hello.shm_socket.empty()) return;
  if (!wire::IsLoopbackPeer(context_.peer())) {
    events_.OnEvent(
        SharedMemoryResult{absl::FailedPreconditionError("the server is not on this machine")});
    return;
  }
  request_ = std::make_unique<SharedMemoryRequest>(
      hello.shm_socket, hello.shm_ticket,
      [this](auto mapping) { UseSharedMemory(std::move(mapping)); });
}

void GrpcStream::UseSharedMemory(absl::StatusOr<std::shared_ptr<const SharedMapping>> mapping) {
  if (mapping.ok()) {
    auto shared = std::make_shared<SharedPayloadPool>(
        *std::move(mapping), [this](uint64_t offset) { Send(wire::Ack{offset}); });
    {
      MutexLock lock(&mutex_);
      shared_ = std::move(shared);
    }
    Send(wire::SharedMemoryMapped{});
  }
  events_.OnEvent(SharedMemoryResult{mapping.status()});
}

absl::Status GrpcStream::HandleControl(const GrpcPayload& payload) {
  std::string bytes(payload.size(), '\0');
  payload.CopyTo(0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  PENSTOCK_ASSIGN_OR_RETURN(wire::ServerMessage message, wire::ParseServerMessage(input));
  if (std::holds_alternative<Draining>(message) && !said_hello_) {
    return absl::UnavailableError("the server is draining");
  }
  if (std::holds_alternative<wire::ServerHello>(message) == said_hello_) {
    return absl::FailedPreconditionError(said_hello_
                                             ? "the server sent a second Hello"
                                             : "the first message of the server was not Hello");
  }
  return std::visit([this](auto& body) { return Handle(std::move(body)); }, message);
}

absl::Status GrpcStream::Handle(const wire::ServerHello& hello) {
  if (hello.protocol_version != protocol_version_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "server speaks protocol version ", hello.protocol_version, ", this client version ",
        protocol_version_, "; install the same Penstock on both sides"));
  }
  said_hello_ = true;
  events_.OnEvent(hello.info);
  RequestSharedMemory(hello);
  std::optional<std::string> next;
  {
    MutexLock lock(&mutex_);
    open_ = !closing_;
    next = TakeNext();
  }
  if (next.has_value()) Write(*next);
  return absl::OkStatus();
}

absl::Status GrpcStream::Handle(StreamEvent event) {
  events_.OnEvent(std::move(event));
  return absl::OkStatus();
}

}  // namespace penstock
