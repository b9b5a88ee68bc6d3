// Computes where the tensors of a batch lie in its slot, and where they lie in a part.
#ifndef PENSTOCK_CLIENT_LOADER_SLOT_LAYOUT_H_
#define PENSTOCK_CLIENT_LOADER_SLOT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/fetch/fetch_actions.h"
#include "client/transport/transport.h"
#include "records/decode/program.h"

namespace penstock {

// In a slot every tensor begins at a multiple of 64 bytes and has room for max_rows. In a part the
// tensors follow one another without padding. With record_ids the last tensor is record_id, i64
// [1]. Immutable.
class SlotLayout {
 public:
  SlotLayout(const Program& program, bool record_ids, uint64_t max_rows);

  // All tensors except that of record ids.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  bool record_ids() const { return record_ids_; }
  uint64_t max_rows() const { return max_rows_; }
  // Bytes of a row over all tensors, as on the wire.
  size_t row_bytes() const { return row_bytes_; }
  size_t slot_bytes() const { return slot_bytes_; }
  // Offset of tensor i in the slot. Index tensors().size() is the tensor of record ids.
  size_t offset(size_t i) const { return fields_[i].slot_offset; }

  // Copies rows of a part into a slot. REQUIRES: payload.size() == part_rows * row_bytes(); the
  // copy lies within both.
  void CopyRows(const PartPayload& payload, uint64_t part_rows, const RowCopy& copy,
                uint8_t* slot) const;
  // Decodes rows into a slot. Returns false as RowSource::Decode() does. REQUIRES: rows.row_bytes()
  // == row_bytes(); the copy lies within both.
  [[nodiscard]] bool DecodeRows(RowSource& rows, const RowCopy& copy, uint8_t* slot) const;
  // Prefetches the cache lines of the slot that the copy will write only in part.
  void FetchEdges(const RowCopy& copy, const uint8_t* slot) const;

 private:
  struct Field {
    size_t row_bytes = 0;
    size_t row_offset = 0;  // Bytes that a row has in earlier tensors.
    size_t slot_offset = 0;
  };
  void AddField(size_t row_bytes);

  std::vector<TensorInfo> tensors_;
  const bool record_ids_;
  const uint64_t max_rows_;
  std::vector<Field> fields_;
  size_t row_bytes_ = 0;
  size_t slot_bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SLOT_LAYOUT_H_
