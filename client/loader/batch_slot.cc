#include "client/loader/batch_slot.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"

namespace penstock {
namespace {

constexpr std::align_val_t kAlignment{64};

class PlainAllocator final : public SlotAllocator {
 public:
  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override {
    void* memory = ::operator new(bytes, kAlignment, std::nothrow);
    if (memory == nullptr) return absl::ResourceExhaustedError("out of memory");
    return static_cast<uint8_t*>(memory);
  }
  void Free(uint8_t* memory, size_t) override { ::operator delete(memory, kAlignment); }
};

PlainAllocator& PlainMemory() {
  static PlainAllocator allocator;
  return allocator;
}

}  // namespace

void Batch::Slot::Describe(const ReadyStep& ready, uint64_t order_fingerprint,
                           const SlotLayout& layout) {
  step = ready.index;
  epoch = ready.step.begin.epoch;
  position = ready.step.begin.position;
  first_row = ready.step.first_row;
  global_rows = ready.step.rows;
  rows = ready.step.rank_rows;
  cursor = {order_fingerprint, ready.step.end.epoch, ready.step.end.position};
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].bytes = {memory + layout.offset(i), rows * layout.tensors()[i].row_bytes};
  }
  if (layout.record_ids()) {
    record_ids = {reinterpret_cast<const uint64_t*>(memory + layout.offset(tensors.size())), rows};
  }
}

absl::StatusOr<std::unique_ptr<SlotSet>> SlotSet::Allocate(const SlotLayout& layout, uint32_t count,
                                                           SlotAllocator* allocator,
                                                           SlotHome& home) {
  if (allocator == nullptr) allocator = &PlainMemory();
  const size_t bytes = std::max<size_t>(layout.slot_bytes(), 1);
  std::unique_ptr<SlotSet> set(new SlotSet(*allocator, bytes));
  set->slots_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<uint8_t*> memory = allocator->Allocate(bytes);
    if (!memory.ok()) {
      return Annotate(memory.status(), absl::StrCat("slot ", i, " of ", count, ", ", bytes,
                                                    " bytes each; lower look_ahead_bytes"));
    }
    Batch::Slot& slot = set->slots_.emplace_back();
    slot.home = &home;
    slot.index = i;
    slot.memory = *memory;
    for (const TensorInfo& tensor : layout.tensors()) {
      slot.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, {}});
    }
  }
  return set;
}

SlotSet::~SlotSet() {
  for (Batch::Slot& slot : slots_) allocator_.Free(slot.memory, bytes_);
}

uint32_t NumSlots(uint64_t look_ahead_bytes, uint64_t slot_bytes, uint64_t steps) {
  constexpr uint64_t kMaxSlots = 1 << 16;
  const uint64_t fit = look_ahead_bytes / std::max<uint64_t>(slot_bytes, 1);
  const uint64_t useful = std::clamp<uint64_t>(steps, 2, kMaxSlots);
  return static_cast<uint32_t>(std::min(std::max<uint64_t>(fit, 2), useful));
}

}  // namespace penstock
