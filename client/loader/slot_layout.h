// Where the tensors of a batch lie in its slot, and where they lie in a part.
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

// In a slot every tensor begins at a multiple of 64 bytes and has room for max_rows; in a part the
// tensors follow one another without padding. With record_ids the last tensor is their i64 [1].
// Immutable.
class SlotLayout {
 public:
  SlotLayout(const Program& program, bool record_ids, uint64_t max_rows);

  // Without that of the record ids.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  bool record_ids() const { return record_ids_; }
  uint64_t max_rows() const { return max_rows_; }
  // Of all tensors together, as on the wire.
  size_t row_bytes() const { return row_bytes_; }
  size_t slot_bytes() const { return slot_bytes_; }
  // Of tensor i; tensors().size() is that of the record ids.
  size_t offset(size_t i) const { return fields_[i].slot_offset; }

  // REQUIRES: payload.size() == part_rows * row_bytes(); the copy lies within both.
  void CopyRows(const PartPayload& payload, uint64_t part_rows, const RowCopy& copy,
                uint8_t* slot) const;
  // REQUIRES: rows.row_bytes() == row_bytes(); the copy lies within both.
  // False: as RowSource::Decode() has it.
  [[nodiscard]] bool DecodeRows(RowSource& rows, const RowCopy& copy, uint8_t* slot) const;
  // Asks for the lines of the slot that the copy will write only a part of.
  void FetchEdges(const RowCopy& copy, const uint8_t* slot) const;

 private:
  struct Field {
    size_t row_bytes = 0;
    size_t row_offset = 0;  // Bytes of a row's earlier tensors.
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
