// The memory of one part of an answer. Pooled and move-only.
#ifndef PENSTOCK_RECORDS_ENGINE_PART_BUFFER_H_
#define PENSTOCK_RECORDS_ENGINE_PART_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "records/engine/messages.h"
#include "records/image/image_note.h"

namespace penstock {

// Receives the memory of parts that return. Lives until its last buffer has returned.
class PartHome {
 public:
  virtual void Return(std::span<uint8_t> memory) = 0;

 protected:
  ~PartHome() = default;
};

// Memory for the parts of one session, used instead of the engine's own. Lives until the last part
// in it has returned. Thread-safe. Must not call the engine.
class PartMemory {
 public:
  virtual ~PartMemory() = default;
  virtual size_t size() const = 0;
  // Returns `capacity` bytes, a power of two from 4 KiB to 4 MiB, or an empty span if no memory is
  // free.
  virtual std::span<uint8_t> Take(size_t capacity) = 0;
  // Whether `memory` came from Take().
  virtual bool Holds(const uint8_t* memory) const = 0;
  virtual void Return(std::span<uint8_t> memory) = 0;
};

using PartPieces = std::vector<std::span<uint8_t>>;

// Holds at most kMaxPartBytes of rows, or one row of at most kMaxRowBytes. The destructor returns
// the memory, on any thread. Thread-compatible.
class PartBuffer {
 public:
  static constexpr size_t kMaxPartBytes = size_t{1} << 20;
  // A gRPC message has room for it (4 MiB).
  static constexpr size_t kMaxRowBytes = size_t{3} << 20;

  PartBuffer() = default;
  // `memory` returns to `home`. Its first `size` bytes are the part.
  PartBuffer(PartHome* home, std::span<uint8_t> memory, size_t size)
      : home_(home), memory_(memory), size_(size), whole_(memory.first(size)) {}
  // The part consists of `pieces` of memory that others read too, so nobody may write to it.
  PartBuffer(PartHome* home, std::span<uint8_t> memory, PartPieces pieces)
      : home_(home), memory_(memory), pieces_(std::move(pieces)) {
    for (const std::span<uint8_t> piece : pieces_) size_ += piece.size();
  }
  PartBuffer(PartBuffer&& other) noexcept { *this = std::move(other); }
  PartBuffer& operator=(PartBuffer&& other) noexcept {
    Reset();
    request = other.request;
    first_row = other.first_row;
    rows = other.rows;
    crc32c = other.crc32c;
    replaced = std::move(other.replaced);
    image_notes = std::move(other.image_notes);
    home_ = std::exchange(other.home_, nullptr);
    memory_ = std::exchange(other.memory_, {});
    size_ = std::exchange(other.size_, 0);
    whole_ = std::exchange(other.whole_, {});
    pieces_ = std::move(other.pieces_);
    other.pieces_.clear();
    return *this;
  }
  ~PartBuffer() { Reset(); }

  // The bytes of the part: the concatenation of these pieces.
  std::span<const std::span<uint8_t>> pieces() const {
    return pieces_.empty() ? std::span(&whole_, 1) : std::span(pieces_);
  }
  size_t size() const { return size_; }
  // The bytes of the part in one piece. REQUIRES: the memory is not shared.
  std::span<uint8_t> bytes() const { return whole_; }

  // Returns the CRC-32C of pieces(). Computed at every call.
  uint32_t ComputeCrc32c() const {
    uint32_t crc = 0;
    for (const std::span<uint8_t> piece : pieces()) crc = Crc32c(piece, crc);
    return crc;
  }
  // Copies bytes [offset, offset + out.size()) of the part to `out`. REQUIRES: they are within
  // size().
  void CopyTo(size_t offset, std::span<uint8_t> out) const {
    for (const std::span<uint8_t> piece : pieces()) {
      const size_t skipped = std::min(offset, piece.size());
      const size_t n = std::min(piece.size() - skipped, out.size());
      std::copy_n(piece.begin() + static_cast<ptrdiff_t>(skipped), n, out.begin());
      out = out.subspan(n);
      offset -= skipped;
    }
  }

  // Gives the memory to the caller, who must call `home->Return(memory)` later. For APIs that free
  // memory through a callback.
  struct Released {
    PartHome* home;
    std::span<uint8_t> memory;
  };
  Released Release() { return {std::exchange(home_, nullptr), std::exchange(memory_, {})}; }

  uint64_t request = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  std::optional<uint32_t> crc32c;  // Set if the session requested checksums.
  // By row of the part. Both lists are set only in the session's events.
  std::vector<ReplacedRow> replaced;  // Ascending.
  std::vector<ImageNote> image_notes;

 private:
  void Reset() {
    if (home_ != nullptr) std::exchange(home_, nullptr)->Return(memory_);
  }

  PartHome* home_ = nullptr;
  std::span<uint8_t> memory_;
  size_t size_ = 0;
  std::span<uint8_t> whole_;
  PartPieces pieces_;  // Pieces of shared memory; empty if the memory is not shared.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PART_BUFFER_H_
