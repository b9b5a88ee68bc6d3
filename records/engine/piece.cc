#include "records/engine/piece.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "records/engine/decoding.h"
#include "records/engine/request_rows.h"
#include "records/engine/shared_window.h"

namespace penstock {
namespace {

// Adds the counts and notes of rows decoded from row `first` of the piece on.
void AddDecoded(const DecodeOutcome& decoded, size_t first, PieceOutcome& outcome) {
  outcome.counters += decoded.counters;
  for (ImageNote note : decoded.image_notes) {
    note.row += static_cast<uint32_t>(first);
    outcome.image_notes.push_back(note);
  }
}

}  // namespace

size_t PieceRowBytes(const Program& program, bool record_ids) {
  return program.row_bytes() + (record_ids ? sizeof(int64_t) : 0);
}

const Program& Piece::program() const { return decoding.program; }
bool Piece::replaces() const { return window.decodings->replaces(); }

void PieceDecoder::Gather(const Piece& piece, size_t first) {
  const size_t n = std::min(kTile, piece.rows - first);
  const WindowRows& window = piece.window.rows;
  rows_.clear();
  ids_.clear();
  ForEachRun(piece.pattern, piece.begin + first, n, [&](uint64_t row, size_t run) {
    const std::span<const uint8_t* const> rows = window.rows().subspan(row, run);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    if (!piece.program().images().decodes()) return;
    const std::span<const int64_t> ids = window.record_ids().subspan(row, run);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
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

DecodeOutcome PieceDecoder::DecodeGathered(const Piece& piece, size_t first, size_t n,
                                           Stores stores) {
  const size_t in_tile = first - gathered_begin_;
  for (size_t f = 0; f < columns_.size(); ++f) columns_[f] = &features_[f * kTile + in_tile];
  std::span<const int64_t> ids = ids_;
  if (!ids.empty()) ids = ids.subspan(in_tile, n);
  return piece.program().DecodeRows(
      columns_, n, next_,
      {.stores = stores,
       .rows_behind = gathered_end_ - first - n,
       .fetched = first == decoded_ && first > gathered_begin_,
       .images = {&images_, piece.window.augmentation_key, ids, image_memory_}});
}

PieceOutcome PieceDecoder::DecodeRows(const Piece& piece, size_t first, size_t n,
                                      std::span<uint8_t* const> outputs, Stores stores) {
  PieceOutcome outcome;
  next_.assign(outputs.begin(), outputs.end());
  for (const size_t end = first + n; first < end;) {
    if (first < gathered_begin_ || first >= gathered_end_) Gather(piece, first);
    const size_t run = std::min(end, gathered_end_) - first;
    DecodeOutcome decoded = DecodeGathered(piece, first, run, stores);
    AddDecoded(decoded, first, outcome);
    const size_t done = decoded.failure ? decoded.failure->row : run;
    Advance(piece, first, done);
    first += done;
    decoded_ = first;
    if (!decoded.failure) continue;
    absl::Status failed = Replace(piece, first, decoded.failure->status, outcome);
    if (!failed.ok()) {
      outcome.failure = {first, std::move(failed)};
      return outcome;
    }
    decoded_ = ++first;
  }
  return outcome;
}

void PieceDecoder::Advance(const Piece& piece, size_t first, size_t n) {
  const std::span<const int64_t> ids = piece.window.rows.record_ids();
  SkipTensors(piece, n);
  if (!piece.record_ids) return;
  ForEachRun(piece.pattern, piece.begin + first, n,
             [&](uint64_t row, size_t run) { AppendIds(ids.subspan(row, run)); });
}

void PieceDecoder::SkipTensors(const Piece& piece, size_t n) {
  const std::span<const TensorInfo> tensors = piece.program().tensors();
  for (size_t t = 0; t < tensors.size(); ++t) next_[t] += n * tensors[t].row_bytes;
}

void PieceDecoder::AppendIds(std::span<const int64_t> ids) {
  std::memcpy(next_.back(), ids.data(), ids.size_bytes());
  next_.back() += ids.size_bytes();
}

absl::StatusOr<bool> PieceDecoder::DecodeInstead(const Piece& piece, const WindowRows::Row& row,
                                                 DecodeOutcome& another) {
  std::vector<const uint8_t*> features;
  std::vector<FeatureColumn> columns;
  features.reserve(columns_.size());
  for (size_t f = 0; f < columns_.size(); ++f) {
    features.push_back(row.features + piece.layout.feature_offset(f));
    columns.push_back(&features.back());
  }
  const auto id = static_cast<int64_t>(row.id | kReplacedRecord);
  another = piece.program().DecodeRows(
      columns, 1, next_,
      {.images = {&images_, piece.window.augmentation_key, {&id, 1}, image_memory_}});
  if (another.failure && absl::IsResourceExhausted(another.failure->status)) {
    return another.failure->status;
  }
  if (another.failure) return false;
  SkipTensors(piece, 1);
  if (piece.record_ids) AppendIds({&id, 1});
  return true;
}

absl::StatusOr<bool> PieceDecoder::DecodeAnother(const Piece& piece, uint64_t at,
                                                 DecodeOutcome& another) {
  if (piece.window.undecodable) return DecodeSpare(piece, another);
  const WindowRows& window = piece.window.rows;
  for (size_t i = 1; i < window.size(); ++i) {
    const size_t other = (at + i) % window.size();
    const auto id = static_cast<uint64_t>(window.record_ids()[other]);
    PENSTOCK_ASSIGN_OR_RETURN(const bool decoded,
                              DecodeInstead(piece, {window.rows()[other], id}, another));
    if (decoded) return true;
  }
  piece.window.undecodable = true;
  return DecodeSpare(piece, another);
}

absl::StatusOr<bool> PieceDecoder::DecodeSpare(const Piece& piece, DecodeOutcome& another) {
  for (const WindowRows::Row& row : piece.window.rows.spare()) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool decoded, DecodeInstead(piece, row, another));
    if (decoded) return true;
  }
  return false;
}

absl::Status PieceDecoder::Replace(const Piece& piece, size_t row, const absl::Status& why,
                                   PieceOutcome& outcome) {
  // A shortage of memory may pass.
  if (!piece.replaces() || absl::IsResourceExhausted(why)) return why;
  const uint64_t at = piece.pattern.window_row(piece.begin + row);
  DecodeOutcome another;
  PENSTOCK_ASSIGN_OR_RETURN(const bool decoded, DecodeAnother(piece, at, another));
  outcome.needs_spare = !decoded;
  if (!decoded) return why;
  AddDecoded(another, row, outcome);
  const auto id = static_cast<uint64_t>(piece.window.rows.record_ids()[at]);
  outcome.replaced.push_back(
      {static_cast<uint32_t>(row), OrdinalOf(id), std::string(why.message())});
  return absl::OkStatus();
}

PieceOutcome PieceDecoder::Decode(const Piece& piece, std::span<uint8_t> out) {
  outputs_.clear();
  uint8_t* next = out.data();
  for (const TensorInfo& tensor : piece.program().tensors()) {
    outputs_.push_back(next);
    next += piece.rows * tensor.row_bytes;
  }
  outputs_.push_back(next);  // Record ids come last.
  Begin();
  return DecodeRows(piece, 0, piece.rows, outputs_, Stores::kCached);
}

}  // namespace penstock
