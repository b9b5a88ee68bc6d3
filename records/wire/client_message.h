// The messages of a client: converts between the structs of engine/messages.h and the bytes of
// proto/pieces.proto.
#ifndef PENSTOCK_RECORDS_WIRE_CLIENT_MESSAGE_H_
#define PENSTOCK_RECORDS_WIRE_CLIENT_MESSAGE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "records/engine/messages.h"
#include "records/wire/limits.h"

namespace penstock::wire {

struct ClientHello {
  uint32_t protocol_version = kFirstProtocolVersion;
  StreamOptions options;
};
// Returns the lowest protocol version that supports what the stream needs.
uint32_t ProtocolVersionOf(const StreamOptions& options);

struct Cancel {
  uint64_t request = 0;
};
struct Release {
  uint64_t window = 0;
};
struct Ack {
  uint64_t offset = 0;
};
struct SharedMemoryMapped {};
using ClientMessage =
    std::variant<ClientHello, OpenWindow, Fetch, Cancel, Release, Ack, SharedMemoryMapped>;

// Serializes a ClientMessage of pieces.proto.
std::string Encode(const ClientMessage& message);

// Parses `bytes` up to their end. The values are in range for the structs. The session must still
// check whether a window's chunks lie in its shards, and a fetch's rows in its window.
//
// kInvalidArgument: the bytes are not a ClientMessage, no field is set, a value belongs to no enum,
// or a limit of limits.h is exceeded.
absl::StatusOr<ClientMessage> ParseClientMessage(google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_CLIENT_MESSAGE_H_
