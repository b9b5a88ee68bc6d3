#include "client/transport/local/local_payload.h"

#include <cstring>
#include <utility>

namespace penstock {

class LocalPayloadPool::Payload final : public PartPayload {
 public:
  size_t size() const override { return part_.bytes().size(); }

  void CopyTo(size_t offset, std::span<uint8_t> out) const override {
    std::memcpy(out.data(), part_.bytes().data() + offset, out.size());
  }

  void Fill(std::shared_ptr<LocalPayloadPool> pool, PartBuffer part) {
    pool_ = std::move(pool);
    part_ = std::move(part);
  }

  void Recycle() override {
    part_ = PartBuffer();
    // Moved out first: this object may be the last to keep the pool alive.
    std::shared_ptr<LocalPayloadPool> pool = std::move(pool_);
    MutexLock lock(&pool->mutex_);
    pool->free_.emplace_back(this);
  }

 private:
  std::shared_ptr<LocalPayloadPool> pool_;  // Shared with the stream; set while in use.
  PartBuffer part_;
};

std::shared_ptr<LocalPayloadPool> LocalPayloadPool::Create() {
  return std::shared_ptr<LocalPayloadPool>(new LocalPayloadPool);
}

std::unique_ptr<PartPayload, PartPayloadRecycler> LocalPayloadPool::Wrap(PartBuffer part) {
  std::unique_ptr<Payload> payload;
  {
    MutexLock lock(&mutex_);
    if (!free_.empty()) {
      payload = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (payload == nullptr) payload = std::make_unique<Payload>();
  payload->Fill(shared_from_this(), std::move(part));
  return std::unique_ptr<PartPayload, PartPayloadRecycler>(payload.release());
}

}  // namespace penstock
