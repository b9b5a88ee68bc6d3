#include "client/loader/slots.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

constexpr std::align_val_t kAlignment{64};

absl::StatusOr<uint8_t*> Allocate(SlotAllocator* allocator, size_t bytes) {
  if (allocator != nullptr) return allocator->Allocate(bytes);
  void* memory = ::operator new(bytes, kAlignment, std::nothrow);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for a batch of ", bytes, " bytes: lower the look-ahead or the batch size"));
  }
  return static_cast<uint8_t*>(memory);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Slots>> Slots::Create(uint32_t count, const RowLayout& layout,
                                                     bool record_ids, SlotReturn& owner,
                                                     SlotAllocator* allocator) {
  std::unique_ptr<Slots> slots(new Slots(layout, allocator));
  slots->slots_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    Batch::Slot& slot = slots->slots_[i];
    PENSTOCK_ASSIGN_OR_RETURN(slot.memory, Allocate(allocator, layout.slot_bytes()));
    slot.owner = &owner;
    slot.index = i;
    slot.num_tensors = layout.tensors().size() - (record_ids ? 1 : 0);
    for (const TensorInfo& tensor : layout.tensors()) {
      slot.views.push_back({tensor.name, tensor.dtype, tensor.shape, {}});
    }
  }
  return slots;
}

Slots::~Slots() {
  for (Batch::Slot& slot : slots_) {
    if (slot.memory == nullptr) continue;
    if (allocator_ != nullptr) {
      allocator_->Free(slot.memory, layout_.slot_bytes());
    } else {
      ::operator delete(slot.memory, kAlignment);
    }
  }
}

void Slots::Describe(const ReadyStep& ready, const Cursor& cursor) {
  Batch::Slot& slot = slots_[ready.slot];
  slot.ready = ready;
  slot.cursor = cursor;
  for (size_t t = 0; t < slot.views.size(); ++t) {
    slot.views[t].bytes = {slot.memory + layout_.slot_offset(t),
                           layout_.tensors()[t].row_bytes * ready.step.rank_rows};
  }
}

}  // namespace penstock
