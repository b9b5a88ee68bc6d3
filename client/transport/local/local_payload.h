// The engine's parts as payloads: no copy, and no allocation once warm.
#ifndef PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_PAYLOAD_H_
#define PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_PAYLOAD_H_

#include <memory>

#include "base/crc32c.h"
#include "base/free_list.h"
#include "client/transport/transport.h"
#include "records/engine/part_buffer.h"

namespace penstock {

class LocalPayloadPool;

// Recycle() returns the part's memory to the engine and the object to its pool. Thread-compatible.
class LocalPayload final : public PartPayload {
 public:
  size_t size() const override { return part_.size(); }
  void CopyTo(size_t offset, std::span<uint8_t> out) const override;
  uint32_t Crc32c() const override { return part_.ComputeCrc32c(); }
  void Recycle() override;

 private:
  friend class LocalPayloadPool;
  PartBuffer part_;
  // Set while the payload is in use. Shared with the stream.
  std::shared_ptr<LocalPayloadPool> pool_;
};

// Recycles payload objects. Shared by a stream and its payloads in use, so that these may outlive
// it. Thread-safe.
class LocalPayloadPool : public std::enable_shared_from_this<LocalPayloadPool> {
 public:
  std::unique_ptr<PartPayload, PartPayloadRecycler> Wrap(PartBuffer part);

 private:
  friend class LocalPayload;
  FreeList<LocalPayload> free_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_PAYLOAD_H_
