#include "trainer/backend/device/pinned_slots.h"

#include <iterator>
#include <new>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr std::align_val_t kPlainAlignment{64};

}  // namespace

absl::StatusOr<uint8_t*> PinnedSlots::Allocate(size_t bytes) {
  if (const absl::StatusOr<void*> locked = device_.AllocateHost(bytes); locked.ok()) {
    auto* memory = static_cast<uint8_t*>(*locked);
    locked_[memory] = bytes;
    return memory;
  } else {
    refused_ = locked.status();
  }
  void* plain = ::operator new(bytes, kPlainAlignment, std::nothrow);
  if (plain == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "out of memory: ", bytes, " bytes for batches fetched ahead; lower --look-ahead"));
  }
  return static_cast<uint8_t*>(plain);
}

void PinnedSlots::Free(uint8_t* memory, size_t) {
  if (locked_.erase(memory) > 0) {
    // A batch that was staged and never begun may still be read. There is nobody to report an error
    // to.
    (void)device_.Synchronize(DeviceQueue::kCopy);
    device_.FreeHost(memory);
  } else {
    ::operator delete(memory, kPlainAlignment);
  }
}

bool PinnedSlots::Contains(const uint8_t* memory, size_t bytes) const {
  const auto after = locked_.upper_bound(memory);
  if (after == locked_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return memory + bytes <= begin + size;
}

std::string PinnedSlots::Describe() const {
  const std::string sent = locked_.empty() ? "every batch is copied there first"
                                           : "full batches are sent from the loader's slots";
  if (refused_.ok()) return sent;
  return absl::StrCat(sent,
                      locked_.empty() ? ", because the loader's slots" : ", except from some that",
                      " could not be locked (", refused_.message(), ")");
}

}  // namespace penstock
