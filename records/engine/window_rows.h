// The rows of a window in order: the permutation, applied to addresses.
#ifndef PENSTOCK_RECORDS_ENGINE_WINDOW_ROWS_H_
#define PENSTOCK_RECORDS_ENGINE_WINDOW_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/split.h"
#include "records/engine/chunk.h"

namespace penstock {

// Borrows `chunk`.
struct WindowChunk {
  const Chunk* chunk = nullptr;
  uint64_t ordinal = 0;  // Number of the chunk's first record in the manifest.
};

struct RowOrder {
  Split split = Split::kAll;
  bool shuffle = true;
  uint64_t key = 0;
};

// Row i is record perm[i] of the split, counted through the chunks in their order, where perm is 0,
// 1, ... shuffled by Shuffle(key).
// A damaged record is replaced by the next good record of the split in its chunk, cyclically. If
// its chunk has none, it is replaced by the first good record of the next chunk of the window that
// has one, cyclically. If no chunk has one, it is replaced by the first good record of the spare.
// The id of such a row has kReplacedRecord set.
// Immutable once built; thread-compatible.
class WindowRows {
 public:
  // The chunks must outlive the rows. `spare` has no rows in the window, and may be null.
  // kDataLoss: no record of the split is good. REQUIRES: fewer than 2^32 rows.
  static absl::StatusOr<WindowRows> Build(std::span<const WindowChunk> chunks,
                                          const WindowChunk* spare, size_t row_bytes,
                                          const RowOrder& order, bool record_ids);

  struct Row {
    const uint8_t* features = nullptr;
    uint64_t id = 0;
  };

  // Memory in bytes of `rows` rows.
  static constexpr uint64_t Bytes(uint64_t rows, bool record_ids) {
    return rows * (sizeof(const uint8_t*) + (record_ids ? sizeof(int64_t) : 0));
  }
  // Memory in bytes of these rows, without spare().
  uint64_t bytes() const {
    return rows_.capacity() * sizeof(rows_[0]) + record_ids_.capacity() * sizeof(int64_t);
  }

  size_t size() const { return rows_.size(); }
  // The packed features of each row.
  std::span<const uint8_t* const> rows() const { return rows_; }
  // The ordinal of each row's record. Empty unless ids were requested.
  std::span<const int64_t> record_ids() const { return record_ids_; }
  // The good records of the spare that belong to the split, in order. Empty unless ids were
  // requested.
  std::span<const Row> spare() const { return spare_; }

 private:
  std::vector<const uint8_t*> rows_;
  std::vector<int64_t> record_ids_;
  std::vector<Row> spare_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_WINDOW_ROWS_H_
