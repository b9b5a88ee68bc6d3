#include "records/engine/window_rows.h"

#include <numeric>
#include <utility>

#include "records/base/permutation.h"

namespace penstock {
namespace {

bool Selects(Split split, bool in_holdout) {
  return split == Split::kAll || in_holdout == (split == Split::kHoldout);
}

template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, std::span<const uint32_t> perm) {
  std::vector<T> result(values.size());
  for (size_t i = 0; i < perm.size(); ++i) result[i] = values[perm[i]];
  return result;
}

}  // namespace

WindowRows WindowRows::Build(std::span<const WindowChunk> chunks, size_t row_bytes,
                             const WindowOrder& order, bool record_ids) {
  size_t records = 0;
  for (const WindowChunk& chunk : chunks) records += chunk.chunk->num_records();
  WindowRows result;
  result.rows_.reserve(records);
  if (record_ids) result.record_ids_.reserve(records);
  for (const auto& [chunk, ordinal] : chunks) {
    for (uint32_t r = 0; r < chunk->num_records(); ++r) {
      if (!Selects(order.split, chunk->InHoldout(r))) continue;
      result.rows_.push_back(chunk->rows() + r * row_bytes);
      if (record_ids) result.record_ids_.push_back(static_cast<int64_t>(ordinal + r));
    }
  }
  if (!order.shuffle) return result;
  std::vector<uint32_t> perm(result.rows_.size());
  std::iota(perm.begin(), perm.end(), 0);
  Shuffle(perm, order.key);
  result.rows_ = Permuted(result.rows_, perm);
  if (record_ids) result.record_ids_ = Permuted(result.record_ids_, perm);
  return result;
}

}  // namespace penstock
