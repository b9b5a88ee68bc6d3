// The memory of one part of an answer: pooled, move-only.
#ifndef PENSTOCK_RECORDS_ENGINE_PART_BUFFER_H_
#define PENSTOCK_RECORDS_ENGINE_PART_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace penstock {

// Where a part's bytes return to. Lives until its last buffer has returned.
class PartHome {
 public:
  virtual void Return(std::span<uint8_t> memory) = 0;

 protected:
  ~PartHome() = default;
};

// At most kMaxPartBytes of rows. The destructor returns the memory, on any thread.
// Thread-compatible.
class PartBuffer {
 public:
  static constexpr size_t kMaxPartBytes = size_t{1} << 20;

  PartBuffer() = default;
  // `memory` returns to `home`; its first `size` bytes are the part's.
  PartBuffer(PartHome* home, std::span<uint8_t> memory, size_t size)
      : home_(home), memory_(memory), size_(size) {}
  PartBuffer(PartBuffer&& other) noexcept { *this = std::move(other); }
  PartBuffer& operator=(PartBuffer&& other) noexcept {
    Reset();
    request = other.request;
    first_row = other.first_row;
    rows = other.rows;
    crc32c = other.crc32c;
    home_ = std::exchange(other.home_, nullptr);
    memory_ = std::exchange(other.memory_, {});
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~PartBuffer() { Reset(); }

  std::span<uint8_t> bytes() const { return memory_.first(size_); }

  // Gives the memory up to the caller, who must call `home->Return(memory)` in time; for APIs
  // that free through a callback.
  struct Released {
    PartHome* home;
    std::span<uint8_t> memory;
  };
  Released Release() { return {std::exchange(home_, nullptr), std::exchange(memory_, {})}; }

  uint64_t request = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  std::optional<uint32_t> crc32c;  // Of bytes(), if the session asked for checksums.

 private:
  void Reset() {
    if (home_ != nullptr) std::exchange(home_, nullptr)->Return(memory_);
  }

  PartHome* home_ = nullptr;
  std::span<uint8_t> memory_;
  size_t size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PART_BUFFER_H_
