// Memory that one session's parts are decoded into instead of the engine's own.
#ifndef PENSTOCK_RECORDS_ENGINE_PART_MEMORY_H_
#define PENSTOCK_RECORDS_ENGINE_PART_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

// Lives until the last part in it has returned. Thread-safe; calls nothing of the engine.
class PartMemory {
 public:
  virtual ~PartMemory() = default;
  virtual size_t size() const = 0;
  // `capacity` bytes, a power of two from 4 KiB to PartBuffer::kMaxPartBytes; empty: none are free.
  virtual std::span<uint8_t> Take(size_t capacity) = 0;
  // Whether `memory` came from Take().
  virtual bool Holds(const uint8_t* memory) const = 0;
  virtual void Return(std::span<uint8_t> memory) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PART_MEMORY_H_
