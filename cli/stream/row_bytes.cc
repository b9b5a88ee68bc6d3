#include "cli/stream/row_bytes.h"

#include <cstring>

namespace penstock {

void RowBytes::Fill(const Batch& batch, bool ids) {
  row_size_ = ids ? sizeof(uint64_t) : 0;
  for (const TensorView& tensor : batch.tensors()) row_size_ += tensor.row_bytes;
  bytes_.resize(row_size_ * batch.rows());
  size_t offset = 0;
  if (ids) {
    const std::span<const uint64_t> column = batch.record_ids();
    AddColumn({reinterpret_cast<const uint8_t*>(column.data()), column.size_bytes()},
              sizeof(uint64_t), offset);
    offset += sizeof(uint64_t);
  }
  for (const TensorView& tensor : batch.tensors()) {
    AddColumn(tensor.bytes, tensor.row_bytes, offset);
    offset += tensor.row_bytes;
  }
}

void RowBytes::AddColumn(std::span<const uint8_t> column, size_t size, size_t offset) {
  for (size_t from = 0, to = offset; from < column.size(); from += size, to += row_size_) {
    std::memcpy(bytes_.data() + to, column.data() + from, size);
  }
}

}  // namespace penstock
