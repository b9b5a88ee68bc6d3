// Received parts, still in the slices into which gRPC read them.
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

// The bytes of a message from some offset on. Thread-compatible.
class GrpcPayload final : public PartPayload {
 public:
  size_t size() const override { return size_; }
  void CopyTo(size_t offset, std::span<uint8_t> out) const override;
  uint32_t Crc32c() const override;
  void Recycle() override;

 private:
  friend class GrpcPayloadPool;

  std::vector<grpc::Slice> slices_;
  std::vector<size_t> ends_;  // End offset of each slice, counted from the start of the first.
  size_t skipped_ = 0;        // Bytes before the payload in the first slices.
  size_t size_ = 0;
  // Set while the payload is in use, so that the pool may outlive the stream.
  std::shared_ptr<GrpcPayloadPool> pool_;
};

using GrpcPayloadPtr = std::unique_ptr<GrpcPayload, PartPayloadRecycler>;

// Recycles payload objects together with the memory of their slice lists. Thread-safe.
class GrpcPayloadPool : public std::enable_shared_from_this<GrpcPayloadPool> {
 public:
  // Returns a payload of the whole message, and leaves `message` empty.
  GrpcPayloadPtr Take(grpc::ByteBuffer& message);
  // Removes the first `bytes` bytes of a payload. REQUIRES: bytes <= payload.size().
  static void Skip(GrpcPayload& payload, size_t bytes);

 private:
  friend class GrpcPayload;

  FreeList<GrpcPayload> free_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_GRPC_PAYLOAD_H_
