#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/print_escaped.h"
#include "client/loader/batch_slot.h"
#include "client/loader/loader.h"

namespace penstock {
namespace {

void AppendName(std::string* out, const TensorView& tensor) { absl::StrAppend(out, tensor.name); }

std::string WrongDtype(const TensorView& tensor, Dtype wanted) {
  return absl::StrCat("tensor '", tensor.name, "' has elements of type ", DtypeName(tensor.dtype),
                      ", not ", DtypeName(wanted));
}

}  // namespace

void TensorView::AbortForDtype(Dtype wanted) const {
  PrintEscaped(stderr, "penstock: %s\n", WrongDtype(*this, wanted));
  std::abort();
}

Batch::Batch() = default;

Batch::~Batch() {
  if (slot_ != nullptr) slot_->home->Release(slot_->ready.slot);
}

Batch::Batch(Batch&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  if (slot_ != nullptr) slot_->home->Release(slot_->ready.slot);
  slot_ = std::exchange(other.slot_, nullptr);
  return *this;
}

const Batch::Slot& Batch::slot() const {
  static const auto* nothing = new Slot;
  return slot_ == nullptr ? *nothing : *slot_;
}

uint64_t Batch::step() const { return slot().ready.index; }
uint64_t Batch::global_step() const { return slot().steps_before + slot().ready.index; }
uint64_t Batch::epoch() const { return slot().ready.step.begin.epoch; }
uint64_t Batch::position() const { return slot().ready.step.begin.position; }
uint64_t Batch::first_row() const { return slot().ready.step.first_row; }
size_t Batch::global_rows() const { return slot().ready.step.rows; }
bool Batch::last_of_epoch() const { return slot().ready.step.last_of_epoch; }
size_t Batch::rows() const { return slot().rows(); }
std::span<const TensorView> Batch::tensors() const { return slot().tensors; }
const Cursor& Batch::cursor() const { return slot().cursor; }
std::span<const uint64_t> Batch::record_ids() const { return slot().record_ids; }

const TensorView* Batch::tensor(absl::string_view name) const {
  for (const TensorView& tensor : tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::Status Batch::NoSuchTensor(absl::string_view name) const {
  return absl::NotFoundError(absl::StrCat(
      "no tensor is called '", name, "'; there are: ", absl::StrJoin(tensors(), ", ", AppendName)));
}

absl::StatusOr<const TensorView*> Batch::Find(absl::string_view name, Dtype dtype) const {
  const TensorView* found = tensor(name);
  if (found == nullptr) return NoSuchTensor(name);
  if (found->dtype != dtype) return absl::InvalidArgumentError(WrongDtype(*found, dtype));
  return found;
}

absl::StatusOr<RaggedTensor> Batch::Ragged(absl::string_view name) const {
  const TensorView* values = tensor(name);
  if (values == nullptr) return NoSuchTensor(name);
  if (!values->lengths.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor '", name,
        "' has no length tensor; use `ragged`, or `pad` with a length_tensor, in the spec"));
  }
  return CompactRows(*values, tensors()[*values->lengths]);
}

Batch Loader::BatchOf(Batch::Slot& slot) {
  Batch batch;
  batch.slot_ = &slot;
  return batch;
}

}  // namespace penstock
