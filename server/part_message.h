// A part as the message that gRPC sends.
#ifndef PENSTOCK_SERVER_PART_MESSAGE_H_
#define PENSTOCK_SERVER_PART_MESSAGE_H_

#include "grpcpp/support/byte_buffer.h"
#include "records/engine/part_buffer.h"
#include "records/wire/part_header.h"

namespace penstock {

// What the header says of a part, wherever its bytes lie.
wire::PartHeader HeaderOf(const PartBuffer& part);

// The header is copied; the tensor bytes are lent to gRPC until it has sent them. An empty part:
// the header alone. Thread-safe.
grpc::ByteBuffer ToMessage(const wire::PartHeader& header, PartBuffer part);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_PART_MESSAGE_H_
