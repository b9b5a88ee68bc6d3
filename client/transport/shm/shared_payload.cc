#include "client/transport/shm/shared_payload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/streaming_copy.h"

namespace penstock {

void SharedPayload::CopyTo(size_t offset, std::span<uint8_t> out) const {
  StreamingCopy(bytes_.subspan(offset, out.size()), out);
}

void SharedPayload::Recycle() {
  // The pool may be destroyed with this reference, after it has taken the payload back.
  std::shared_ptr<SharedPayloadPool> pool = std::move(pool_);
  pool->Return(this, offset_);
}

absl::StatusOr<std::unique_ptr<PartPayload, PartPayloadRecycler>> SharedPayloadPool::Take(
    uint64_t offset, uint32_t size) {
  const std::span<const uint8_t> all = mapping_->bytes();
  if (offset > all.size() || size > all.size() - offset) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server sent a part outside of its shared memory: ", size,
                     " bytes at offset ", offset, " of ", all.size(), " bytes"));
  }
  std::unique_ptr<SharedPayload> payload = free_.Take();
  payload->offset_ = offset;
  payload->bytes_ = all.subspan(offset, size);
  payload->pool_ = shared_from_this();
  return std::unique_ptr<PartPayload, PartPayloadRecycler>(payload.release());
}

void SharedPayloadPool::Return(SharedPayload* payload, uint64_t offset) {
  free_.Return(std::unique_ptr<SharedPayload>(payload));
  MutexLock lock(&ack_mutex_);
  if (ack_) ack_(offset);
}

void SharedPayloadPool::Close() {
  MutexLock lock(&ack_mutex_);
  ack_ = nullptr;
}

}  // namespace penstock
