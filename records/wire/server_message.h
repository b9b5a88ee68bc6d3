// What a server says, but for parts: part_header.h has those, so that tensor bytes pass through no
// protobuf object.
#ifndef PENSTOCK_RECORDS_WIRE_SERVER_MESSAGE_H_
#define PENSTOCK_RECORDS_WIRE_SERVER_MESSAGE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "records/engine/messages.h"
#include "records/wire/limits.h"

namespace penstock::wire {

struct ServerHello {
  uint32_t protocol_version = kProtocolVersion;
  ServerInfo info;
  // The door to shared memory; empty: there is none.
  std::string shm_socket = {};
  std::string shm_ticket = {};
};
using ServerMessage = std::variant<ServerHello, WindowReady, StreamError, Credit, Draining>;

// A serialised ServerMessage of pieces.proto.
std::string Encode(const ServerMessage& message);

// Reads `bytes` to its end.
//
// kInvalidArgument: not a ServerMessage, nothing set in it, an Error without subject or with a code
// that is OK or unknown, or a Part (ParsePartHeader() reads those).
absl::StatusOr<ServerMessage> ParseServerMessage(google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_SERVER_MESSAGE_H_
