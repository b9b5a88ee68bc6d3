#include <utility>

#include "client/loader/slots.h"

namespace penstock {

Batch::Batch() = default;
Batch::~Batch() { Reset(); }
Batch::Batch(Batch&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  slot_ = std::exchange(other.slot_, nullptr);
  return *this;
}

void Batch::Reset() {
  if (slot_ == nullptr) return;
  Slot* slot = std::exchange(slot_, nullptr);
  slot->owner->ReturnSlot(slot->index);
}

uint64_t Batch::step() const { return slot_->ready.index; }
uint64_t Batch::epoch() const { return slot_->ready.step.begin.epoch; }
uint64_t Batch::position() const { return slot_->ready.step.begin.position; }
uint64_t Batch::first_row() const { return slot_->ready.step.first_row; }
size_t Batch::rows() const { return slot_ == nullptr ? 0 : slot_->ready.step.rank_rows; }
const Cursor& Batch::cursor() const { return slot_->cursor; }

std::span<const TensorView> Batch::tensors() const {
  if (slot_ == nullptr) return {};
  return std::span(slot_->views).first(slot_->num_tensors);
}

const TensorView* Batch::tensor(absl::string_view name) const {
  for (const TensorView& view : tensors()) {
    if (view.name == name) return &view;
  }
  return nullptr;
}

std::span<const uint64_t> Batch::record_ids() const {
  if (slot_ == nullptr || slot_->views.size() == slot_->num_tensors) return {};
  return {reinterpret_cast<const uint64_t*>(slot_->views.back().bytes.data()), rows()};
}

}  // namespace penstock
