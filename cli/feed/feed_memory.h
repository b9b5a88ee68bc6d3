// Uses the consumer's shared memory as the slots of a loader.
#ifndef PENSTOCK_CLI_FEED_FEED_MEMORY_H_
#define PENSTOCK_CLI_FEED_FEED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"
#include "client/loader/slot_allocator.h"

namespace penstock::feed {

// Maps a memfd for as long as this object lives. Thread-compatible.
class FeedMemory final : public SlotAllocator {
 public:
  // kInvalidArgument: `memory` is not a memfd that is sealed against shrinking, or has less than
  // `bytes`. kResourceExhausted: it cannot be mapped.
  static absl::StatusOr<std::unique_ptr<FeedMemory>> Map(UniqueFd memory, size_t bytes);
  ~FeedMemory() override;
  FeedMemory(const FeedMemory&) = delete;
  FeedMemory& operator=(const FeedMemory&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  // Returns the whole memory. kResourceExhausted: it is too small.
  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override;
  void Free(uint8_t* memory, size_t bytes) override;

 private:
  FeedMemory(uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t* const data_;
  const size_t size_;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_MEMORY_H_
