// Received parts that are in a server's pool.
#ifndef PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_PAYLOAD_H_
#define PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_PAYLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "base/crc32c.h"
#include "base/free_list.h"
#include "base/mutex.h"
#include "client/transport/shm/shared_mapping.h"
#include "client/transport/transport.h"

namespace penstock {

class SharedPayloadPool;

// A part in the pool. Thread-compatible.
class SharedPayload final : public PartPayload {
 public:
  size_t size() const override { return bytes_.size(); }
  void CopyTo(size_t offset, std::span<uint8_t> out) const override;
  uint32_t Crc32c() const override { return penstock::Crc32c(bytes_); }
  // Tells the server that it may use the memory again.
  void Recycle() override;

 private:
  friend class SharedPayloadPool;

  uint64_t offset_ = 0;
  std::span<const uint8_t> bytes_;
  // Set while the payload is in use, so that the pool may outlive the stream.
  std::shared_ptr<SharedPayloadPool> pool_;
};

// Recycles the payload objects of one stream. Shared by the stream and its payloads. Thread-safe.
class SharedPayloadPool : public std::enable_shared_from_this<SharedPayloadPool> {
 public:
  using Ack = std::function<void(uint64_t offset)>;

  SharedPayloadPool(std::shared_ptr<const SharedMapping> mapping, Ack ack)
      : mapping_(std::move(mapping)), ack_(std::move(ack)) {}

  // Returns bytes [offset, offset + size) of the mapping as a payload. kFailedPrecondition: they
  // are not within the mapping.
  absl::StatusOr<std::unique_ptr<PartPayload, PartPayloadRecycler>> Take(uint64_t offset,
                                                                         uint32_t size);
  // After it has returned, `ack` is not called and no call is running.
  void Close();

 private:
  friend class SharedPayload;
  void Return(SharedPayload* payload, uint64_t offset);

  const std::shared_ptr<const SharedMapping> mapping_;
  FreeList<SharedPayload> free_;
  Mutex ack_mutex_;  // Held while `ack` runs.
  Ack ack_ ABSL_GUARDED_BY(ack_mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_SHM_SHARED_PAYLOAD_H_
