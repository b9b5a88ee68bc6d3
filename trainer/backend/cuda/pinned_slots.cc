#include "trainer/backend/cuda/pinned_slots.h"

#include <iterator>
#include <new>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

absl::StatusOr<uint8_t*> PinnedSlots::Allocate(size_t bytes) {
  if (const absl::StatusOr<void*> locked = device_.AllocateHost(bytes); locked.ok()) {
    auto* memory = static_cast<uint8_t*>(*locked);
    locked_[memory] = bytes;
    return memory;
  } else {
    refused_ = locked.status();
  }
  void* plain = ::operator new(bytes, kAlignment, std::nothrow);
  if (plain == nullptr) return absl::ResourceExhaustedError("out of memory");
  return static_cast<uint8_t*>(plain);
}

void PinnedSlots::Free(uint8_t* memory, size_t) {
  if (locked_.erase(memory) > 0) {
    device_.FreeHost(memory);
  } else {
    ::operator delete(memory, kAlignment);
  }
}

bool PinnedSlots::Contains(const uint8_t* memory, size_t bytes) const {
  const auto after = locked_.upper_bound(memory);
  if (after == locked_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return memory + bytes <= begin + size;
}

std::string PinnedSlots::Describe() const {
  if (!locked_.empty()) return "full batches are sent from the loader's slots";
  if (refused_.ok()) return "every batch is copied there first";
  return absl::StrCat("every batch is copied there first: the loader's slots could not be locked (",
                      refused_.message(), ")");
}

}  // namespace penstock
