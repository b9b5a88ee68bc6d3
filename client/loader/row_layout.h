// Where the tensors of a row lie, in a slot and in a part.
#ifndef PENSTOCK_CLIENT_LOADER_ROW_LAYOUT_H_
#define PENSTOCK_CLIENT_LOADER_ROW_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "client/fetch/scheduler_actions.h"
#include "client/transport/transport.h"
#include "records/decode/program.h"

namespace penstock {

// Both hold the tensors one after the other, each row-major [rows, ...]: a part without padding, a
// slot with room for `slot_rows` rows and every tensor at a multiple of 64 bytes. Immutable,
// thread-safe.
class RowLayout {
 public:
  // With `record_ids` a last tensor record_id (i64 scalar) follows the program's.
  RowLayout(const Program& program, bool record_ids, uint64_t slot_rows);

  std::span<const TensorInfo> tensors() const { return tensors_; }
  size_t row_bytes() const { return row_bytes_; }
  size_t slot_bytes() const { return slot_bytes_; }
  size_t slot_offset(size_t tensor) const { return slot_offsets_[tensor]; }

  // `payload` holds `part_rows` rows: REQUIRES payload.size() == part_rows * row_bytes().
  void Copy(const PartPayload& payload, uint32_t part_rows, const RowCopy& copy,
            uint8_t* slot) const;

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<size_t> slot_offsets_;
  size_t row_bytes_ = 0;
  size_t slot_bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_ROW_LAYOUT_H_
