#include "client/transport/local/local_payload.h"

#include <utility>

#include "base/streaming_copy.h"

namespace penstock {

void LocalPayload::CopyTo(size_t offset, std::span<uint8_t> out) const {
  if (part_.pieces().size() > 1) return part_.CopyTo(offset, out);
  StreamingCopy(part_.pieces()[0].subspan(offset, out.size()), out);
}

void LocalPayload::Recycle() {
  part_ = PartBuffer();
  // The pool may be destroyed with this reference, after it has taken the payload back.
  std::shared_ptr<LocalPayloadPool> pool = std::move(pool_);
  pool->free_.Return(std::unique_ptr<LocalPayload>(this));
}

std::unique_ptr<PartPayload, PartPayloadRecycler> LocalPayloadPool::Wrap(PartBuffer part) {
  std::unique_ptr<LocalPayload> payload = free_.Take();
  payload->part_ = std::move(part);
  payload->pool_ = shared_from_this();
  return std::unique_ptr<PartPayload, PartPayloadRecycler>(payload.release());
}

}  // namespace penstock
