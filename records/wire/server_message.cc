#include "records/wire/server_message.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/pieces.pb.h"

namespace penstock::wire {
namespace {

void ToProto(const ServerHello& hello, v1::ServerMessage& message) {
  v1::ServerHello& out = *message.mutable_hello();
  out.set_protocol_version(hello.protocol_version);
  out.set_instance(hello.info.instance);
  out.set_cores(hello.info.cores);
  out.set_decoder_version(hello.info.decoder_version);
  out.set_spec_fingerprint(hello.info.spec_fingerprint);
  out.set_memory_budget(hello.info.memory_budget);
  out.set_shm_socket(hello.shm_socket);
  out.set_shm_ticket(hello.shm_ticket);
}

void ToProto(const WindowReady& ready, v1::ServerMessage& message) {
  message.mutable_window_ready()->set_window(ready.window);
  message.mutable_window_ready()->set_read_bytes(ready.read_bytes);
}

void ToProto(const StreamError& error, v1::ServerMessage& message) {
  v1::Error& out = *message.mutable_error();
  if (error.request.has_value()) out.set_request(*error.request);
  if (error.window.has_value()) out.set_window(*error.window);
  out.set_code(static_cast<uint32_t>(error.status.code()));
  out.set_message(std::string(error.status.message()));
  out.set_needs_spare(error.needs_spare);
  if (!error.damage.has_value()) return;
  v1::Damage& damage = *out.mutable_detail();
  damage.set_shard(error.damage->shard);
  damage.set_chunk_offset(error.damage->chunk_offset);
  damage.set_record(error.damage->record);
  damage.set_rest_of_chunk(error.damage->rest_of_chunk);
}

void ToProto(const Credit& credit, v1::ServerMessage& message) {
  message.mutable_credit()->set_bytes(credit.bytes);
  message.mutable_credit()->set_working(credit.working);
}

void ToProto(const Draining& draining, v1::ServerMessage& message) {
  message.mutable_draining()->set_grace_ms(draining.grace_ms);
}

ServerMessage FromProto(const v1::ServerHello& hello) {
  return ServerHello{.protocol_version = hello.protocol_version(),
                     .info = {.instance = hello.instance(),
                              .cores = hello.cores(),
                              .decoder_version = hello.decoder_version(),
                              .spec_fingerprint = hello.spec_fingerprint(),
                              .memory_budget = hello.memory_budget()},
                     .shm_socket = hello.shm_socket(),
                     .shm_ticket = hello.shm_ticket()};
}

absl::StatusOr<ServerMessage> FromProto(const v1::Error& error) {
  constexpr uint32_t kLastCode = static_cast<uint32_t>(absl::StatusCode::kUnauthenticated);
  if (error.code() == 0 || error.code() > kLastCode) {
    return absl::InvalidArgumentError(absl::StrCat("Error with code ", error.code()));
  }
  StreamError out;
  if (error.has_request()) {
    out.request = error.request();
  } else if (error.has_window()) {
    out.window = error.window();
  } else {
    return absl::InvalidArgumentError("an Error names neither a request nor a window");
  }
  out.status = absl::Status(static_cast<absl::StatusCode>(error.code()), error.message());
  out.needs_spare = error.needs_spare();
  if (error.has_detail()) {
    out.damage = Damage{.shard = error.detail().shard(),
                        .chunk_offset = error.detail().chunk_offset(),
                        .record = error.detail().record(),
                        .rest_of_chunk = error.detail().rest_of_chunk()};
  }
  return out;
}

}  // namespace

std::string Encode(const ServerMessage& message) {
  v1::ServerMessage out;
  std::visit([&out](const auto& body) { ToProto(body, out); }, message);
  return out.SerializeAsString();
}

absl::StatusOr<ServerMessage> ParseServerMessage(google::protobuf::io::ZeroCopyInputStream& bytes) {
  v1::ServerMessage message;
  if (!message.ParseFromZeroCopyStream(&bytes)) {
    return absl::InvalidArgumentError("the bytes are not a ServerMessage");
  }
  switch (message.message_case()) {
    case v1::ServerMessage::kHello:
      return FromProto(message.hello());
    case v1::ServerMessage::kWindowReady:
      return WindowReady{message.window_ready().window(), message.window_ready().read_bytes()};
    case v1::ServerMessage::kError:
      return FromProto(message.error());
    case v1::ServerMessage::kCredit:
      return Credit{message.credit().bytes(), message.credit().working()};
    case v1::ServerMessage::kDraining:
      return Draining{message.draining().grace_ms()};
    case v1::ServerMessage::kPart:
      return absl::InvalidArgumentError("a Part whose data is not the last of its fields");
    case v1::ServerMessage::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "a ServerMessage without a message, or with one that this version does not know");
}

}  // namespace penstock::wire
