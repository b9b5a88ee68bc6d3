// What a client says, between the structs of engine/messages.h and the bytes of proto/pieces.proto.
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
// The first protocol version that has what the stream needs.
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

// A serialised ClientMessage of pieces.proto.
std::string Encode(const ClientMessage& message);

// Reads `bytes` to its end. Whether a window's chunks lie in its shards and a fetch's rows in its
// window is the session's to check; what comes out of here is in range for the structs.
//
// kInvalidArgument: not a ClientMessage, nothing set in it, a value that no enum has, or beyond a
// limit of limits.h.
absl::StatusOr<ClientMessage> ParseClientMessage(google::protobuf::io::ZeroCopyInputStream& bytes);

}  // namespace penstock::wire

#endif  // PENSTOCK_RECORDS_WIRE_CLIENT_MESSAGE_H_
