#include "records/engine/undecodable.h"

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

absl::Status NameRecord(const WindowState& window, uint64_t window_row, const absl::Status& why) {
  const uint8_t* row = window.shared->rows.rows()[window_row];
  const size_t row_bytes = window.session->layout->row_bytes();
  for (size_t i = 0; i < window.chunks.size(); ++i) {
    const Chunk& chunk = window.chunks[i]->chunk;
    const auto distance = static_cast<size_t>(row - chunk.rows());
    if (row < chunk.rows() || distance >= chunk.num_records() * row_bytes) continue;
    const ChunkRef& ref = window.definition.chunks[i];
    return RecordRefused(window.definition.shards[ref.shard], ref,
                         static_cast<uint32_t>(distance / row_bytes), why)
        .status;
  }
  return why;
}

}  // namespace

LoadError Undecodable(const WindowState& window, uint64_t window_row, const PieceOutcome& failed) {
  const absl::Status named = NameRecord(window, window_row, failed.failure->status);
  if (!failed.needs_spare) return {named, std::nullopt};
  return {
      absl::DataLossError(absl::StrCat(
          "no record of the window can be decoded, so there is no replacement: ", named.message())),
      std::nullopt, true};
}

}  // namespace penstock
