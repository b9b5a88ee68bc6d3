#include "records/engine/piece.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "records/engine/request_rows.h"

namespace penstock {
size_t PieceRowBytes(const Program& program, bool record_ids) {
  return program.row_bytes() + (record_ids ? sizeof(int64_t) : 0);
}

void PieceDecoder::Gather(const Piece& piece, size_t first) {
  const size_t n = std::min(kTile, piece.rows - first);
  rows_.clear();
  ForEachRun(piece.pattern, piece.begin + first, n, [&](uint64_t row, size_t run) {
    const auto begin = piece.window.rows().begin() + static_cast<ptrdiff_t>(row);
    rows_.insert(rows_.end(), begin, begin + static_cast<ptrdiff_t>(run));
  });
  const size_t num_features = piece.layout.features().size();
  features_.resize(num_features * kTile);
  columns_.resize(num_features);
  for (size_t f = 0; f < num_features; ++f) {
    const size_t offset = piece.layout.feature_offset(f);
    std::transform(rows_.begin(), rows_.end(), &features_[f * kTile],
                   [offset](const uint8_t* row) { return row + offset; });
  }
  gathered_begin_ = first;
  gathered_end_ = first + n;
  decoded_ = first;
}

DecodeOutcome PieceDecoder::DecodeRows(const Piece& piece, size_t first, size_t n,
                                       std::span<uint8_t* const> outputs, Stores stores) {
  DecodeOutcome outcome;
  next_.assign(outputs.begin(), outputs.end());
  for (const size_t end = first + n; first < end;) {
    if (first < gathered_begin_ || first >= gathered_end_) Gather(piece, first);
    const size_t run = std::min(end, gathered_end_) - first;
    for (size_t f = 0; f < columns_.size(); ++f) {
      columns_[f] = &features_[f * kTile + first - gathered_begin_];
    }
    DecodeOutcome decoded =
        piece.program.DecodeRows(columns_, run, next_,
                                 {.stores = stores,
                                  .rows_behind = gathered_end_ - first - run,
                                  .fetched = first == decoded_ && first > gathered_begin_});
    outcome.counters += decoded.counters;
    if (decoded.failure) {
      outcome.failure = {first + decoded.failure->row, std::move(decoded.failure->status)};
      return outcome;
    }
    decoded_ = first + run;
    for (size_t t = 0; t < piece.program.tensors().size(); ++t) {
      next_[t] += run * piece.program.tensors()[t].row_bytes;
    }
    CopyIds(piece, first, run);
    first += run;
  }
  return outcome;
}

void PieceDecoder::CopyIds(const Piece& piece, size_t first, size_t n) {
  if (piece.window.record_ids().empty()) return;
  ForEachRun(piece.pattern, piece.begin + first, n, [&](uint64_t row, size_t run) {
    std::memcpy(next_.back(), &piece.window.record_ids()[row], run * sizeof(int64_t));
    next_.back() += run * sizeof(int64_t);
  });
}

DecodeOutcome PieceDecoder::Decode(const Piece& piece, std::span<uint8_t> out) {
  outputs_.clear();
  uint8_t* next = out.data();
  for (const TensorInfo& tensor : piece.program.tensors()) {
    outputs_.push_back(next);
    next += piece.rows * tensor.row_bytes;
  }
  outputs_.push_back(next);  // Of the record ids.
  Begin();
  return DecodeRows(piece, 0, piece.rows, outputs_, Stores::kCached);
}

}  // namespace penstock
