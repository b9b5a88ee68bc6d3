// The messages of a server other than parts. part_header.h handles parts, so that tensor bytes pass
// through no protobuf object.
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
  // The socket that hands out shared memory, and the ticket for it. Empty if the server offers
  // none.
  std::string shm_socket = {};
  std::string shm_ticket = {};
};
using ServerMessage = std::variant<ServerHello, WindowReady, StreamError, Credit, Draining>;

// Serializes a ServerMessage of pieces.proto.
std::string Encode(const ServerMessage& message);

// Parses `bytes` up to their end.
//
// kInvalidArgument: the bytes are not a ServerMessage, no field is set, an Error has no subject, an
// Error has a code that is OK or unknown, or the message is a Part (use ParsePartHeader()).
absl::StatusOr<ServerMessage> ParseServerMessage(google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_SERVER_MESSAGE_H_
