// Turns rows of a window into the bytes of a part.
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

// The rows that answer a fetch, in order: row r of the answer is window row first_row + r / rows *
// stride + r % rows, for r < rows * count.
struct RowPattern {
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 1;

  uint64_t size() const { return uint64_t{rows} * count; }
  uint64_t window_row(uint64_t r) const { return first_row + r / rows * stride + r % rows; }
};

// Returns the bytes of one row of a part: the program's tensors and, if `record_ids`, the record
// id.
size_t PieceRowBytes(const Program& program, bool record_ids);

// Rows [begin, begin + rows) of `pattern`. REQUIRES: the pattern lies in the window, and the range
// lies in the pattern.
struct Piece {
  const Decoding& decoding;
  const ChunkLayout& layout;
  const SharedWindow& window;
  RowPattern pattern;
  uint64_t begin = 0;
  size_t rows = 0;
  bool record_ids = false;  // True if the client requested record ids.

  const Program& program() const;
  bool replaces() const;
};

struct PieceOutcome {
  DecodeCounters counters;
  std::optional<DecodeFailure> failure;
  // Set only with `failure`: neither a row of the window nor one of its spare could be decoded
  // instead.
  bool needs_spare = false;
  std::vector<ReplacedRow> replaced;   // By row of the piece, ascending.
  std::vector<ImageNote> image_notes;  // By row of the piece, in no order.
};

// Decodes pieces into memory of the caller. The bytes do not depend on the decoder. Reuses its own
// memory.
// Not thread-safe: keep one for each thread.
class PieceDecoder {
 public:
  // `images` grants the memory for large images, and must outlive the decoder. If it is null, all
  // requests are granted.
  explicit PieceDecoder(ImageMemory* images = nullptr) : image_memory_(images) {}

  // Decodes all of `piece`: the program's tensors one after the other, each row-major [rows, ...],
  // then record_id if it was requested. A failure names the row of the piece; the content of `out`
  // is then unspecified. REQUIRES: out.size() is rows * PieceRowBytes().
  //
  // If piece.replaces(), a row that cannot be decoded is replaced by the first row after it in the
  // window that can be, cyclically, or else by one of the window's spare. It then has that row's
  // ordinal, with kReplacedRecord, as its id. The call then fails only if there is no memory, or if
  // no row can be decoded.
  PieceOutcome Decode(const Piece& piece, std::span<uint8_t> out);

  // Decodes only rows [first, first + n) of the piece: tensor t to outputs[t], and record ids to
  // the last output. The rows after them are prefetched, so ranges should ascend. Call Begin()
  // before the first range of a piece.
  void Begin() { gathered_begin_ = gathered_end_ = 0; }
  PieceOutcome DecodeRows(const Piece& piece, size_t first, size_t n,
                          std::span<uint8_t* const> outputs, Stores stores);

 private:
  // Rows whose addresses are gathered together. They stay in L1.
  static constexpr size_t kTile = 512;

  // Gathers the addresses of the features of rows [first, ...), as many as a tile has.
  void Gather(const Piece& piece, size_t first);
  // Decodes rows [first, first + n) of the piece, which are gathered, to next_.
  DecodeOutcome DecodeGathered(const Piece& piece, size_t first, size_t n, Stores stores);
  // Adds the ids and moves next_ past rows [first, first + n). Call it after their tensors are
  // written.
  void Advance(const Piece& piece, size_t first, size_t n);
  void SkipTensors(const Piece& piece, size_t n);
  void AppendIds(std::span<const int64_t> ids);
  // Writes another row to next_ instead of row `row` of the piece, which cannot be decoded because
  // of `why`. On failure, returns `why` with outcome.needs_spare, or kResourceExhausted.
  absl::Status Replace(const Piece& piece, size_t row, const absl::Status& why,
                       PieceOutcome& outcome);
  // Decodes the first row of the window after window row `at`, or of its spare, that can be
  // decoded. Returns false if there is none, and kResourceExhausted if there is no memory to find
  // out.
  absl::StatusOr<bool> DecodeAnother(const Piece& piece, uint64_t at, DecodeOutcome& another);
  absl::StatusOr<bool> DecodeSpare(const Piece& piece, DecodeOutcome& another);
  // Decodes one row of the window or its spare to next_.
  absl::StatusOr<bool> DecodeInstead(const Piece& piece, const WindowRows::Row& row,
                                     DecodeOutcome& another);

  std::vector<const uint8_t*> rows_;      // [n]
  std::vector<const uint8_t*> features_;  // [feature][kTile]
  std::vector<int64_t> ids_;              // [n], only for programs that decode images.
  std::vector<FeatureColumn> columns_;
  std::vector<uint8_t*> outputs_;  // Used by Decode().
  std::vector<uint8_t*> next_;     // Addresses at which the next rows are written.
  // The rows of the piece that are in features_; 0, 0 if there are none.
  size_t gathered_begin_ = 0;
  size_t gathered_end_ = 0;
  size_t decoded_ = 0;  // Rows before this are decoded, and the next ones are prefetched.
  ImageTransform images_;
  ImageMemory* const image_memory_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PIECE_H_
