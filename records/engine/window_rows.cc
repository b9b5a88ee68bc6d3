#include "records/engine/window_rows.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/permutation.h"
#include "records/engine/messages.h"

namespace penstock {
namespace {

bool Selects(Split split, bool in_holdout) {
  return split == Split::kAll || in_holdout == (split == Split::kHoldout);
}

size_t NumRows(const Chunk& chunk, Split split) {
  if (split == Split::kAll) return chunk.num_records();
  return split == Split::kHoldout ? chunk.num_holdout() : chunk.num_records() - chunk.num_holdout();
}

template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, std::span<const uint32_t> perm) {
  std::vector<T> result(values.size());
  for (size_t i = 0; i < perm.size(); ++i) result[i] = values[perm[i]];
  return result;
}

using Row = WindowRows::Row;

// The rows of a window before they are shuffled.
class Selection {
 public:
  Selection(std::span<const WindowChunk> chunks, const WindowChunk* spare, size_t row_bytes,
            Split split)
      : chunks_(chunks), spare_(spare), row_bytes_(row_bytes), split_(split) {}

  // Calls visit(Row) for every row. kDataLoss: there are rows, but no good one.
  template <typename Visit>
  absl::Status ForEach(const Visit& visit) const {
    std::vector<std::optional<Row>> first_good;  // Filled once it is needed.
    for (size_t c = 0; c < chunks_.size(); ++c) {
      const Chunk& chunk = *chunks_[c].chunk;
      if (!chunk.damage().empty()) {
        if (first_good.empty()) first_good = FirstGoodRows();
        if (!ForEachAroundDamage(c, first_good, visit)) {
          return absl::DataLossError("every record is damaged, so there is no replacement");
        }
        continue;
      }
      for (uint32_t r = 0; r < chunk.num_records(); ++r) {
        if (Selects(split_, chunk.InHoldout(r))) visit(At(chunks_[c], r));
      }
    }
    return absl::OkStatus();
  }

  std::vector<Row> GoodSpareRows() const {
    std::vector<Row> rows;
    if (spare_ == nullptr) return rows;
    for (uint32_t r = 0; r < spare_->chunk->num_records(); ++r) {
      if (IsGood(*spare_->chunk, r)) rows.push_back(At(*spare_, r));
    }
    return rows;
  }

 private:
  Row At(const WindowChunk& chunk, uint32_t r) const {
    return {chunk.chunk->rows() + r * row_bytes_, chunk.ordinal + r};
  }
  bool IsGood(const Chunk& chunk, uint32_t r) const {
    return Selects(split_, chunk.InHoldout(r)) && !chunk.damage().Contains(r);
  }
  std::optional<Row> FirstGoodRow(const WindowChunk& chunk) const {
    for (uint32_t r = 0; r < chunk.chunk->num_records(); ++r) {
      if (IsGood(*chunk.chunk, r)) return At(chunk, r);
    }
    return std::nullopt;
  }
  // Returns the first good row of each chunk. A chunk without a good row gets that of the next
  // chunk that has one, cyclically. If no chunk has one, all get that of the spare.
  std::vector<std::optional<Row>> FirstGoodRows() const {
    std::vector<std::optional<Row>> rows;
    for (const WindowChunk& chunk : chunks_) rows.push_back(FirstGoodRow(chunk));
    const auto good = [](const std::optional<Row>& row) { return row.has_value(); };
    if (spare_ != nullptr && std::none_of(rows.begin(), rows.end(), good)) {
      rows.assign(rows.size(), FirstGoodRow(*spare_));
    }
    for (size_t i = 2 * rows.size(); i-- > 0;) {
      std::optional<Row>& row = rows[i % rows.size()];
      if (!row) row = rows[(i + 1) % rows.size()];
    }
    return rows;
  }
  // Returns false if no record can stand for the damaged ones of this chunk.
  template <typename Visit>
  bool ForEachAroundDamage(size_t c, std::span<const std::optional<Row>> first_good,
                           const Visit& visit) const {
    const Chunk& chunk = *chunks_[c].chunk;
    std::vector<Row> rows;  // From last to first: each damaged row needs the next good one.
    std::optional<Row> next;
    for (uint32_t r = chunk.num_records(); r-- > 0;) {
      if (!Selects(split_, chunk.InHoldout(r))) continue;
      if (!chunk.damage().Contains(r)) {
        next = At(chunks_[c], r);
        rows.push_back(*next);
        continue;
      }
      if (!next) next = first_good[c];
      if (!next) return false;
      rows.push_back({next->features, next->id | kReplacedRecord});
    }
    std::for_each(rows.rbegin(), rows.rend(), visit);
    return true;
  }

  const std::span<const WindowChunk> chunks_;
  const WindowChunk* const spare_;
  const size_t row_bytes_;
  const Split split_;
};

}  // namespace

absl::StatusOr<WindowRows> WindowRows::Build(std::span<const WindowChunk> chunks,
                                             const WindowChunk* spare, size_t row_bytes,
                                             const RowOrder& order, bool record_ids) {
  size_t rows = 0;
  for (const WindowChunk& chunk : chunks) rows += NumRows(*chunk.chunk, order.split);
  WindowRows result;
  result.rows_.reserve(rows);
  if (record_ids) result.record_ids_.reserve(rows);
  const Selection selection(chunks, spare, row_bytes, order.split);
  const absl::Status status = selection.ForEach([&](const Row& row) {
    result.rows_.push_back(row.features);
    if (record_ids) result.record_ids_.push_back(static_cast<int64_t>(row.id));
  });
  if (!status.ok()) return status;
  if (record_ids) result.spare_ = selection.GoodSpareRows();
  if (!order.shuffle) return result;
  std::vector<uint32_t> perm(result.rows_.size());
  std::iota(perm.begin(), perm.end(), 0);
  Shuffle(perm, order.key);
  result.rows_ = Permuted(result.rows_, perm);
  if (record_ids) result.record_ids_ = Permuted(result.record_ids_, perm);
  return result;
}

}  // namespace penstock
