#include "client/loader/batch_slot.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/streaming_copy.h"

// Of AddressSanitizer; null in programs without it.
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* memory, size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* memory, size_t bytes);
}

namespace penstock {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// Number of runs of rows that are prefetched ahead of the current one.
constexpr size_t kFetchedAhead = 2;

// Uses huge pages if the machine has them: strips of a few KiB are written to all slots in turn,
// and each slot has pages of its own.
class PlainAllocator final : public SlotAllocator {
 public:
  absl::StatusOr<uint8_t*> Allocate(size_t bytes) override {
    void* memory = ::operator new(bytes, AlignmentOf(bytes), std::nothrow);
    if (memory == nullptr) return absl::ResourceExhaustedError("out of memory");
    if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<uint8_t*>(memory);
  }
  void Free(uint8_t* memory, size_t bytes) override {
    ::operator delete(memory, AlignmentOf(bytes));
  }

 private:
  static std::align_val_t AlignmentOf(size_t bytes) {
    return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage};
  }
};

PlainAllocator& PlainMemory() {
  static PlainAllocator allocator;
  return allocator;
}

bool IsAligned(const uint8_t* memory) {
  return reinterpret_cast<uintptr_t>(memory) % kCacheLine == 0;
}

// Refuses memory that the loader's threads would crash on.
absl::StatusOr<uint8_t*> AllocateChecked(SlotAllocator& allocator, size_t bytes) {
  absl::StatusOr<uint8_t*> memory = allocator.Allocate(bytes);
  if (!memory.ok() || (*memory != nullptr && IsAligned(*memory))) return memory;
  if (*memory == nullptr) {
    return absl::InvalidArgumentError("slot_allocator returned null instead of an error");
  }
  allocator.Free(*memory, bytes);
  return absl::InvalidArgumentError(
      absl::StrCat("slot_allocator returned memory that is not ", kCacheLine, "-byte aligned"));
}

}  // namespace

void Batch::Slot::Describe(const ReadyStep& delivered, uint64_t order_fingerprint,
                           const SlotLayout& layout) {
  ready = delivered;
  cursor = {order_fingerprint, ready.step.end.epoch, ready.step.end.position};
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].bytes = {memory + layout.offset(i), rows() * tensors[i].row_bytes};
  }
  if (layout.record_ids()) {
    record_ids = {reinterpret_cast<const uint64_t*>(memory + layout.offset(tensors.size())),
                  rows()};
  }
}

absl::StatusOr<std::unique_ptr<SlotSet>> SlotSet::Allocate(const SlotLayout& layout, uint32_t count,
                                                           SlotAllocator* allocator,
                                                           SlotHome& home) {
  if (allocator == nullptr) allocator = &PlainMemory();
  const size_t bytes = std::max<size_t>(layout.slot_bytes(), 1);
  absl::StatusOr<uint8_t*> memory = AllocateChecked(*allocator, count * bytes);
  if (!memory.ok()) {
    return absl::Status(
        memory.status().code(),
        absl::StrCat("no memory for ", count, " batches of ", bytes,
                     " bytes each: ", memory.status().message(), "; lower --look-ahead"));
  }
  std::unique_ptr<SlotSet> set(new SlotSet(layout, *allocator, *memory, bytes));
  set->slots_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    Batch::Slot& slot = set->slots_.emplace_back();
    slot.home = &home;
    slot.memory = set->memory(i);
    for (const TensorInfo& tensor : layout.tensors()) {
      slot.tensors.push_back(
          {tensor.name, tensor.dtype, tensor.shape, tensor.row_bytes, {}, tensor.lengths});
    }
  }
  return set;
}

template <typename Write>
void SlotSet::ForEach(std::span<const RowCopy> copies, const Write& write) const {
  for (size_t i = 0; i < copies.size(); ++i) {
    if (i + kFetchedAhead < copies.size()) {
      const RowCopy& ahead = copies[i + kFetchedAhead];
      layout_.FetchEdges(ahead, memory(ahead.slot));
    }
    write(copies[i], memory(copies[i].slot));
  }
  StreamingFence();
}

void SlotSet::Copy(const ReceivedPart& part, std::span<const RowCopy> copies) const {
  ForEach(copies, [&](const RowCopy& copy, uint8_t* slot) {
    layout_.CopyRows(*part.payload, part.rows, copy, slot);
  });
}

bool SlotSet::Decode(RowSource& rows, std::span<const RowCopy> copies) const {
  bool decoded = true;
  ForEach(copies, [&](const RowCopy& copy, uint8_t* slot) {
    decoded = decoded && layout_.DecodeRows(rows, copy, slot);
  });
  return decoded;
}

void SlotSet::Spoil(uint32_t index) const {
  std::memset(memory(index), 0xff, slot_bytes_);
  if (__asan_poison_memory_region) __asan_poison_memory_region(memory(index), slot_bytes_);
}

void SlotSet::Restore(uint32_t index) const {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(memory(index), slot_bytes_);
}

SlotSet::~SlotSet() {
  for (uint32_t i = 0; i < size(); ++i) Restore(i);
  allocator_.Free(memory_, slots_.size() * slot_bytes_);
}

}  // namespace penstock
