#include "records/engine/piece.h"

#include <algorithm>
#include <cstring>

#include "records/engine/request_rows.h"

namespace penstock {
size_t PieceRowBytes(const Program& program, bool record_ids) {
  return program.row_bytes() + (record_ids ? sizeof(int64_t) : 0);
}

void PieceDecoder::Gather(const WindowRows& window, const RowPattern& pattern, uint64_t begin,
                          size_t n) {
  rows_.clear();
  ForEachRun(pattern, begin, n, [&](uint64_t row, size_t run) {
    const auto first = window.rows().begin() + static_cast<ptrdiff_t>(row);
    rows_.insert(rows_.end(), first, first + static_cast<ptrdiff_t>(run));
  });
}

DecodeCounters PieceDecoder::Decode(const Program& program, const ChunkLayout& layout,
                                    const WindowRows& window, const RowPattern& pattern,
                                    uint64_t begin, size_t rows, std::span<uint8_t> out) {
  const size_t num_features = layout.features().size();
  features_.resize(num_features * kTile);
  columns_.resize(num_features);
  for (size_t f = 0; f < num_features; ++f) columns_[f] = &features_[f * kTile];
  outputs_.clear();
  uint8_t* end = out.data();
  for (const TensorInfo& tensor : program.tensors()) {
    outputs_.push_back(end);
    end += rows * tensor.row_bytes;
  }
  DecodeCounters counters;
  for (size_t done = 0; done < rows;) {
    const size_t n = std::min(kTile, rows - done);
    Gather(window, pattern, begin + done, n);
    for (size_t f = 0; f < num_features; ++f) {
      const size_t offset = layout.feature_offset(f);
      std::transform(rows_.begin(), rows_.end(), &features_[f * kTile],
                     [offset](const uint8_t* row) { return row + offset; });
    }
    counters += program.DecodeRows(columns_, n, outputs_);
    for (size_t t = 0; t < outputs_.size(); ++t) {
      outputs_[t] += n * program.tensors()[t].row_bytes;
    }
    done += n;
  }
  if (!window.record_ids().empty()) {
    ForEachRun(pattern, begin, rows, [&](uint64_t row, size_t run) {
      std::memcpy(end, &window.record_ids()[row], run * sizeof(int64_t));
      end += run * sizeof(int64_t);
    });
  }
  return counters;
}

}  // namespace penstock
