// Rows of a window become the bytes of a part.
#ifndef PENSTOCK_RECORDS_ENGINE_PIECE_H_
#define PENSTOCK_RECORDS_ENGINE_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/decode/program.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/messages.h"
#include "records/engine/window_rows.h"
#include "records/image/image_transform.h"

namespace penstock {

struct Decoding;
struct SharedWindow;

// The answer to a fetch, counted through: row r is window row first_row + r / rows * stride +
// r % rows, for r < rows * count.
struct RowPattern {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 1;

  uint64_t size() const { return uint64_t{rows} * count; }
  uint64_t window_row(uint64_t r) const { return first_row + r / rows * stride + r % rows; }
};

// Bytes of one row of a part: the program's tensors and, if asked for, the record id.
size_t PieceRowBytes(const Program& program, bool record_ids);

// Rows [begin, begin + rows) of `pattern`. REQUIRES: the pattern lies in the window, the range in
// the pattern.
struct Piece {
  const Decoding& decoding;
  const ChunkLayout& layout;
  const SharedWindow& window;
  RowPattern pattern;
  uint64_t begin = 0;
  size_t rows = 0;
  bool record_ids = false;  // Asked for.

  const Program& program() const;
  bool replaces() const;
};

struct PieceOutcome {
  DecodeCounters counters;
  std::optional<DecodeFailure> failure;
  // With `failure`: no row of the window, nor of its spare, could be decoded in place of that one.
  bool needs_spare = false;
  std::vector<ReplacedRow> replaced;   // By row of the piece, ascending.
  std::vector<ImageNote> image_notes;  // The same of images, in no order.
};

// Decodes into memory that the caller gives: the same bytes whoever decodes. Recycles its own. Not
// thread-safe: one per thread.
class PieceDecoder {
 public:
  // `images`, which must outlive it, grants what large images take; null: all.
  explicit PieceDecoder(ImageMemory* images = nullptr) : image_memory_(images) {}

  // All of `piece`: the program's tensors one after the other, each row-major [rows, ...], then
  // record_id if asked for. A failure names the row of the piece; what is in `out` is then
  // unspecified. REQUIRES: out.size() is rows * PieceRowBytes().
  //
  // If piece.replaces(), a row that cannot be decoded becomes the first one that can of those
  // behind it in the window, cyclically, and then of the window's spare: with its own ordinal, and
  // kReplacedRecord in its id. Only for want of memory it fails.
  PieceOutcome Decode(const Piece& piece, std::span<uint8_t> out);

  // Only rows [first, first + n) of it, tensor t to outputs[t]; record ids are last. What follows
  // is fetched, so the ranges of a piece should ascend, and Begin() comes before the first of them.
  void Begin() { gathered_begin_ = gathered_end_ = 0; }
  PieceOutcome DecodeRows(const Piece& piece, size_t first, size_t n,
                          std::span<uint8_t* const> outputs, Stores stores);

 private:
  // Rows whose addresses are gathered together: they stay in L1.
  static constexpr size_t kTile = 512;

  // Addresses of the features of rows [first, ...), as many as a tile has.
  void Gather(const Piece& piece, size_t first);
  // Rows [first, first + n) of the piece, which are gathered, to next_.
  DecodeOutcome DecodeGathered(const Piece& piece, size_t first, size_t n, Stores stores);
  // The tensors of rows [first, first + n) are written: adds the ids and moves next_ behind them.
  void Advance(const Piece& piece, size_t first, size_t n);
  void SkipTensors(const Piece& piece, size_t n);
  void AppendIds(std::span<const int64_t> ids);
  // Writes another row to next_ instead of row `row` of the piece, which `why` says cannot be
  // decoded. Otherwise why not: `why`, with outcome.needs_spare, or kResourceExhausted.
  absl::Status Replace(const Piece& piece, size_t row, const absl::Status& why,
                       PieceOutcome& outcome);
  // The first of the window's rows behind window row `at`, or of its spare, that can be decoded.
  // False: none. kResourceExhausted: no memory to know.
  absl::StatusOr<bool> DecodeAnother(const Piece& piece, uint64_t at, DecodeOutcome& another);
  absl::StatusOr<bool> DecodeSpare(const Piece& piece, DecodeOutcome& another);
  // One row of the window or its spare to next_.
  absl::StatusOr<bool> DecodeInstead(const Piece& piece, const WindowRows::Row& row,
                                     DecodeOutcome& another);

  std::vector<const uint8_t*> rows_;      // [n]
  std::vector<const uint8_t*> features_;  // [feature][kTile]
  std::vector<int64_t> ids_;              // [n], for programs that decode images.
  std::vector<FeatureColumn> columns_;
  std::vector<uint8_t*> outputs_;  // Of Decode().
  std::vector<uint8_t*> next_;     // Where the next rows go.
  // Rows of the piece that are in features_; 0, 0: none.
  size_t gathered_begin_ = 0;
  size_t gathered_end_ = 0;
  size_t decoded_ = 0;  // Behind the last row that was decoded; the next ones are fetched.
  ImageTransform images_;
  ImageMemory* const image_memory_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PIECE_H_
