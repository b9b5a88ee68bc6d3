// The memory behind a Batch.
#ifndef PENSTOCK_CLIENT_LOADER_BATCH_SLOT_H_
#define PENSTOCK_CLIENT_LOADER_BATCH_SLOT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "client/loader/slot_layout.h"

namespace penstock {

// Takes a slot back when its batch is released. Thread-safe.
class SlotHome {
 public:
  virtual void Release(uint32_t slot) = 0;

 protected:
  ~SlotHome() = default;
};

// The driver writes it until it is delivered. The consumer reads it until it is released.
struct Batch::Slot {
  SlotHome* home = nullptr;
  uint8_t* memory = nullptr;
  ReadyStep ready;
  Cursor cursor;
  std::vector<TensorView> tensors;  // These views point into `memory`.
  std::span<const uint64_t> record_ids;
  uint64_t steps_before = 0;  // Steps of the run before those of this loader.

  size_t rows() const { return ready.step.rank_rows; }
  // Sets the members to describe the delivered step.
  void Describe(const ReadyStep& delivered, uint64_t order_fingerprint, const SlotLayout& layout);
};

// All slots of a loader, one after the other in memory. The threads that receive rows write them in
// parallel. Not thread-safe, except for Copy() and Decode() of different rows.
class SlotSet {
 public:
  // `layout` and `allocator` (null: plain memory) must outlive the set.
  static absl::StatusOr<std::unique_ptr<SlotSet>> Allocate(const SlotLayout& layout, uint32_t count,
                                                           SlotAllocator* allocator,
                                                           SlotHome& home);
  ~SlotSet();
  SlotSet(const SlotSet&) = delete;
  SlotSet& operator=(const SlotSet&) = delete;

  Batch::Slot& operator[](uint32_t index) { return slots_[index]; }
  // Copies rows of an answer to the places in `copies`. The caller may tell other threads of them
  // at once. It has the same requirements as SlotLayout.
  void Copy(const ReceivedPart& part, std::span<const RowCopy> copies) const;
  // Decodes rows to the places in `copies`. Returns false if a row cannot be decoded:
  // RowSource::Decode().
  [[nodiscard]] bool Decode(RowSource& rows, std::span<const RowCopy> copies) const;
  // Fills a slot's memory with 0xff, and lets AddressSanitizer report accesses to it until
  // Restore().
  void Spoil(uint32_t index) const;
  void Restore(uint32_t index) const;
  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }

 private:
  SlotSet(const SlotLayout& layout, SlotAllocator& allocator, uint8_t* memory, size_t slot_bytes)
      : layout_(layout), allocator_(allocator), memory_(memory), slot_bytes_(slot_bytes) {}
  uint8_t* memory(uint32_t index) const { return memory_ + index * slot_bytes_; }
  // Calls `write` with each copy and the memory of its slot.
  template <typename Write>
  void ForEach(std::span<const RowCopy> copies, const Write& write) const;

  const SlotLayout& layout_;
  SlotAllocator& allocator_;
  uint8_t* const memory_;
  const size_t slot_bytes_;
  std::vector<Batch::Slot> slots_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_BATCH_SLOT_H_
