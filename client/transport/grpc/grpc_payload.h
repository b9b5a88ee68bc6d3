// Received parts, still in the slices that gRPC read them into.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_PAYLOAD_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_PAYLOAD_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/free_list.h"
#include "client/transport/transport.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace penstock {

class GrpcPayloadPool;

// The message's bytes from some offset on.
class GrpcPayload final : public PartPayload {
 public:
  size_t size() const override { return size_; }
  void CopyTo(size_t offset, std::span<uint8_t> out) const override;
  uint32_t Crc32c() const override;
  void Recycle() override;

 private:
  friend class GrpcPayloadPool;

  std::vector<grpc::Slice> slices_;
  std::vector<size_t> ends_;  // Of each slice, from the first one's begin.
  size_t skipped_ = 0;        // Bytes before the payload in the first slices.
  size_t size_ = 0;
  std::shared_ptr<GrpcPayloadPool> pool_;  // While it is out, so that it may outlive the stream.
};

using GrpcPayloadPtr = std::unique_ptr<GrpcPayload, PartPayloadRecycler>;

// Payload objects that are used again with the memory of their slice lists. Thread-safe.
class GrpcPayloadPool : public std::enable_shared_from_this<GrpcPayloadPool> {
 public:
  // A payload of the whole message, which is left empty.
  GrpcPayloadPtr Take(grpc::ByteBuffer& message);
  // Removes the first `bytes` of a payload. REQUIRES: within its size.
  static void Skip(GrpcPayload& payload, size_t bytes);

 private:
  friend class GrpcPayload;

  FreeList<GrpcPayload> free_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_PAYLOAD_H_
