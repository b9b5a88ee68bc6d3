#include "records/engine/row_cost.h"

#include <algorithm>

#include "records/format/variable_entry.h"

namespace penstock {
namespace {

// Decoding and resizing takes about 20 ns for each byte of a JPEG of quality 90. Expanding bits
// takes 0.18 ns for each int8 byte (bench/fair_share.cc).
constexpr uint64_t kBytesOfEncodedByte = 110;
// Decoding images of this cost takes about 10 ms.
constexpr uint64_t kMostBytes = uint64_t{55} << 20;

uint64_t EncodedBytes(const RequestState& request, uint64_t row) {
  const ChunkLayout& layout = *request.window->session->layout;
  const WindowRows& window = request.window->shared->rows;
  const uint8_t* packed = window.rows()[request.pattern.window_row(row)];
  uint64_t bytes = 0;
  for (const size_t column : request.decoding->program.images().columns) {
    bytes += LoadVariable(packed + layout.feature_offset(column)).bytes.size();
  }
  return bytes;
}

}  // namespace

RowsCost CostOfNextRows(const RequestState& request, uint32_t most) {
  const uint64_t row_bytes = request.decoding->row_bytes;
  if (!request.decoding->program.images().decodes()) return {most, most * row_bytes};
  RowsCost cost;
  while (cost.rows < most) {
    const uint64_t encoded = EncodedBytes(request, request.next_row + cost.rows);
    const uint64_t bytes = std::max(row_bytes, kBytesOfEncodedByte * encoded);
    if (cost.rows > 0 && cost.bytes + bytes > kMostBytes) break;
    ++cost.rows;
    cost.bytes += bytes;
  }
  return cost;
}

}  // namespace penstock
