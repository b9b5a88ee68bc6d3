// Memory into which a server writes parts, and from which one client of the same machine reads
// them.
#ifndef PENSTOCK_SERVER_SHARED_POOL_H_
#define PENSTOCK_SERVER_SHARED_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "base/mutex.h"
#include "records/engine/part_buffer.h"

namespace penstock {

// A memfd without a name. It is sealed: its size never changes, so it cannot kill a reader. If the
// kernel supports it, only we can map it for writing. Blocks with the lowest addresses are given
// out first, so that a stream that needs little memory stays in the processor's cache. Thread-safe.
class SharedPool final : public PartMemory {
 public:
  // Creates a pool. All of its pages exist when it returns. Keeps `counted` as long as the pool
  // lives, so that the owner can count pools. REQUIRES: size is a multiple of
  // PartBuffer::kMaxPartBytes.
  static absl::StatusOr<std::shared_ptr<SharedPool>> Create(
      size_t size, std::shared_ptr<void> counted = nullptr);
  ~SharedPool() override;
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;

  int fd() const { return fd_.get(); }
  // REQUIRES: `memory` came from Take().
  uint64_t OffsetOf(const uint8_t* memory) const {
    return static_cast<uint64_t>(memory - memory_.data());
  }

  size_t size() const override { return memory_.size(); }
  std::span<uint8_t> Take(size_t capacity) override;
  bool Holds(const uint8_t* memory) const override {
    return memory >= memory_.data() && memory < memory_.data() + memory_.size();
  }
  void Return(std::span<uint8_t> memory) override;

 private:
  static constexpr size_t kBlockBytes = 4096;

  SharedPool(UniqueFd fd, std::span<uint8_t> memory, std::shared_ptr<void> counted);
  // Returns the first run of `blocks` free blocks that begins at a multiple of that number.
  std::optional<size_t> FindFree(size_t blocks) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UniqueFd fd_;
  const std::span<uint8_t> memory_;
  const std::shared_ptr<void> counted_;  // Only kept alive; never used here.
  Mutex mutex_;
  std::vector<bool> taken_ ABSL_GUARDED_BY(mutex_);  // Indexed by block.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SHARED_POOL_H_
