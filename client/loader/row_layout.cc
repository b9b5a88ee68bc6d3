#include "client/loader/row_layout.h"

namespace penstock {
namespace {

constexpr size_t kAlignment = 64;

size_t AlignUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

RowLayout::RowLayout(const Program& program, bool record_ids, uint64_t slot_rows)
    : tensors_(program.tensors().begin(), program.tensors().end()) {
  if (record_ids) tensors_.push_back({"record_id", Dtype::kI64, {}, sizeof(int64_t)});
  for (const TensorInfo& tensor : tensors_) {
    slot_offsets_.push_back(slot_bytes_);
    row_bytes_ += tensor.row_bytes;
    slot_bytes_ += AlignUp(tensor.row_bytes * slot_rows);
  }
}

void RowLayout::Copy(const PartPayload& payload, uint32_t part_rows, const RowCopy& copy,
                     uint8_t* slot) const {
  size_t part_offset = 0;
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const size_t row_bytes = tensors_[t].row_bytes;
    payload.CopyTo(part_offset + copy.part_row * row_bytes,
                   {slot + slot_offsets_[t] + copy.slot_row * row_bytes, copy.rows * row_bytes});
    part_offset += part_rows * row_bytes;
  }
}

}  // namespace penstock
