// A part as the message that gRPC sends.
#ifndef PENSTOCK_SERVER_PART_MESSAGE_H_
#define PENSTOCK_SERVER_PART_MESSAGE_H_

#include "grpcpp/support/byte_buffer.h"
#include "records/engine/part_buffer.h"
#include "records/wire/part_header.h"

namespace penstock {

// Returns the header of a part, without the fields that say where its bytes are.
wire::PartHeader HeaderOf(const PartBuffer& part);

// Copies the header, and lends the tensor bytes to gRPC until it has sent them. For an empty part
// the message is only the header. Thread-safe.
grpc::ByteBuffer ToMessage(const wire::PartHeader& header, PartBuffer part);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_PART_MESSAGE_H_
