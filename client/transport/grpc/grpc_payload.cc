#include "client/transport/grpc/grpc_payload.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/streaming_copy.h"

namespace penstock {

void GrpcPayload::CopyTo(size_t offset, std::span<uint8_t> out) const {
  const size_t from = skipped_ + offset;
  size_t i = std::upper_bound(ends_.begin(), ends_.end(), from) - ends_.begin();
  for (size_t at = from; !out.empty(); ++i) {
    const size_t left = ends_[i] - at;
    const size_t take = std::min(left, out.size());
    StreamingCopy({slices_[i].end() - left, take}, out.first(take));
    out = out.subspan(take);
    at += take;
  }
}

uint32_t GrpcPayload::Crc32c() const {
  uint32_t crc = 0;
  size_t skip = skipped_;
  for (const grpc::Slice& slice : slices_) {
    const size_t skipped = std::min(skip, slice.size());
    crc = penstock::Crc32c({slice.begin() + skipped, slice.size() - skipped}, crc);
    skip -= skipped;
  }
  return crc;
}

void GrpcPayload::Recycle() {
  slices_.clear();
  // The pool may be destroyed with this reference, after it has taken the payload back.
  std::shared_ptr<GrpcPayloadPool> pool = std::move(pool_);
  pool->free_.Return(std::unique_ptr<GrpcPayload>(this));
}

GrpcPayloadPtr GrpcPayloadPool::Take(grpc::ByteBuffer& message) {
  std::unique_ptr<GrpcPayload> payload = free_.Take();
  payload->pool_ = shared_from_this();
  payload->skipped_ = 0;
  payload->size_ = message.Length();
  // Fails only if the message was compressed and its bytes are damaged.
  if (!message.Dump(&payload->slices_).ok()) payload->size_ = 0;
  payload->ends_.clear();
  size_t end = 0;
  for (const grpc::Slice& slice : payload->slices_) payload->ends_.push_back(end += slice.size());
  message.Clear();
  return GrpcPayloadPtr(payload.release());
}

void GrpcPayloadPool::Skip(GrpcPayload& payload, size_t bytes) {
  payload.skipped_ += bytes;
  payload.size_ -= bytes;
}

}  // namespace penstock
