#include "client/loader/slot_layout.h"

#include "absl/container/inlined_vector.h"
#include "base/prefetch.h"
#include "base/rounding.h"

namespace penstock {
namespace {

constexpr size_t kAlignment = 64;
// Shorter runs of rows, in bytes, are not written past the caches.
constexpr ptrdiff_t kShortRun = 1024;

bool IsAligned(const uint8_t* at) { return reinterpret_cast<uintptr_t>(at) % kAlignment == 0; }

}  // namespace

SlotLayout::SlotLayout(const Program& program, bool record_ids, uint64_t max_rows)
    : tensors_(program.tensors().begin(), program.tensors().end()),
      record_ids_(record_ids),
      max_rows_(max_rows) {
  for (const TensorInfo& tensor : tensors_) AddField(tensor.row_bytes);
  if (record_ids) AddField(sizeof(int64_t));
}

void SlotLayout::AddField(size_t row_bytes) {
  fields_.push_back({row_bytes, row_bytes_, slot_bytes_});
  row_bytes_ += row_bytes;
  slot_bytes_ += RoundUp(row_bytes * max_rows_, kAlignment);
}

void SlotLayout::CopyRows(const PartPayload& payload, uint64_t part_rows, const RowCopy& copy,
                          uint8_t* slot) const {
  for (const Field& field : fields_) {
    const size_t from = part_rows * field.row_offset + copy.part_row * field.row_bytes;
    uint8_t* to = slot + field.slot_offset + copy.slot_row * field.row_bytes;
    payload.CopyTo(from, {to, copy.rows * field.row_bytes});
  }
}

bool SlotLayout::DecodeRows(RowSource& rows, const RowCopy& copy, uint8_t* slot) const {
  absl::InlinedVector<uint8_t*, 8> outputs;
  for (const Field& field : fields_) {
    outputs.push_back(slot + field.slot_offset + copy.slot_row * field.row_bytes);
  }
  return rows.Decode(copy.part_row, copy.rows, outputs);
}

void SlotLayout::FetchEdges(const RowCopy& copy, const uint8_t* slot) const {
  for (const Field& field : fields_) {
    const uint8_t* begin = slot + field.slot_offset + copy.slot_row * field.row_bytes;
    const uint8_t* end = begin + copy.rows * field.row_bytes;
    if (end - begin < kShortRun) {
      for (const uint8_t* at = begin; at < end; at += kAlignment) PrefetchToWrite(at);
    } else if (!IsAligned(begin)) {
      PrefetchToWrite(begin);
    }
    if (!IsAligned(end)) PrefetchToWrite(end);
  }
}

}  // namespace penstock
