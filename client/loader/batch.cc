#include <utility>

#include "client/loader/batch_slot.h"
#include "client/loader/loader.h"

namespace penstock {

Batch::Batch() = default;

Batch::~Batch() {
  if (slot_ != nullptr) slot_->home->Release(slot_->index);
}

Batch::Batch(Batch&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (slot_ != nullptr) slot_->home->Release(slot_->index);
  slot_ = std::exchange(other.slot_, nullptr);
  return *this;
}

uint64_t Batch::step() const { return slot_->step; }
uint64_t Batch::epoch() const { return slot_->epoch; }
uint64_t Batch::position() const { return slot_->position; }
uint64_t Batch::first_row() const { return slot_->first_row; }
size_t Batch::global_rows() const { return slot_->global_rows; }
size_t Batch::rows() const { return slot_ == nullptr ? 0 : slot_->rows; }
std::span<const TensorView> Batch::tensors() const {
  return slot_ == nullptr ? std::span<const TensorView>() : slot_->tensors;
}
const Cursor& Batch::cursor() const { return slot_->cursor; }
std::span<const uint64_t> Batch::record_ids() const {
  return slot_ == nullptr ? std::span<const uint64_t>() : slot_->record_ids;
}

const TensorView* Batch::tensor(absl::string_view name) const {
  for (const TensorView& tensor : tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Batch Loader::BatchOf(Batch::Slot& slot) {
  Batch batch;
  batch.slot_ = &slot;
  return batch;
}

}  // namespace penstock
