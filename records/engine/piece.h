// Rows of a window become the bytes of a part.
#ifndef PENSTOCK_RECORDS_ENGINE_PIECE_H_
#define PENSTOCK_RECORDS_ENGINE_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/decode/program.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/window_rows.h"

namespace penstock {

// The answer to a fetch, counted through: row r is window row first_row + r / rows * stride +
// r % rows, for r < rows * count.
struct RowPattern {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 1;

  uint64_t size() const { return uint64_t{rows} * count; }
};

// Bytes of one row of a part: the program's tensors and, if asked for, the record id.
size_t PieceRowBytes(const Program& program, bool record_ids);

// Decodes into memory that the caller gives. Recycles its own. Not thread-safe: one per thread.
class PieceDecoder {
 public:
  // Rows [begin, begin + rows) of `pattern`: the program's tensors one after the other, each
  // row-major [rows, ...], then record_id if the window has ids. The same bytes whoever decodes.
  // REQUIRES: the pattern lies in the window, the range in the pattern; out.size() is rows *
  // PieceRowBytes().
  DecodeCounters Decode(const Program& program, const ChunkLayout& layout, const WindowRows& window,
                        const RowPattern& pattern, uint64_t begin, size_t rows,
                        std::span<uint8_t> out);

 private:
  // Rows decoded by one call of the program: their addresses stay in L1.
  static constexpr size_t kTile = 512;

  // Addresses of rows [begin, begin + n) of the pattern.
  void Gather(const WindowRows& window, const RowPattern& pattern, uint64_t begin, size_t n);

  std::vector<const uint8_t*> rows_;      // [n]
  std::vector<const uint8_t*> features_;  // [feature][kTile]
  std::vector<FeatureColumn> columns_;
  std::vector<uint8_t*> outputs_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PIECE_H_
