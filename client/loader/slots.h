// The memory batches are assembled in.
#ifndef PENSTOCK_CLIENT_LOADER_SLOTS_H_
#define PENSTOCK_CLIENT_LOADER_SLOTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/fetch/scheduler_actions.h"
#include "client/loader/loader.h"
#include "client/loader/row_layout.h"

namespace penstock {

// Who takes slots back.
class SlotReturn {
 public:
  virtual void ReturnSlot(uint32_t slot) = 0;

 protected:
  ~SlotReturn() = default;
};

// One batch's memory and what a Batch shows of it.
struct Batch::Slot {
  SlotReturn* owner = nullptr;
  uint32_t index = 0;
  uint8_t* memory = nullptr;
  ReadyStep ready;
  Cursor cursor;
  std::vector<TensorView> views;  // Of the program's tensors, then record_id if asked for.
  size_t num_tensors = 0;         // Without record_id.
};

// A fixed number of slots. Thread-compatible; a slot's memory belongs to whoever fills or reads it.
class Slots {
 public:
  // `layout`, `owner` and `allocator` (null: plain memory) must outlive it.
  static absl::StatusOr<std::unique_ptr<Slots>> Create(uint32_t count, const RowLayout& layout,
                                                       bool record_ids, SlotReturn& owner,
                                                       SlotAllocator* allocator);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  size_t size() const { return slots_.size(); }
  uint8_t* memory(uint32_t slot) { return slots_[slot].memory; }
  // Makes the views of a filled slot: `ready.step.rank_rows` rows.
  void Describe(const ReadyStep& ready, const Cursor& cursor);
  Batch::Slot* slot(uint32_t index) { return &slots_[index]; }

 private:
  Slots(const RowLayout& layout, SlotAllocator* allocator)
      : layout_(layout), allocator_(allocator) {}

  const RowLayout& layout_;
  SlotAllocator* const allocator_;
  std::vector<Batch::Slot> slots_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SLOTS_H_
