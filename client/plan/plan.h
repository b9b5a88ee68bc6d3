// The plan: from a chunk table and options, which records come in which order in every epoch.
#ifndef PENSTOCK_CLIENT_PLAN_PLAN_H_
#define PENSTOCK_CLIENT_PLAN_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/plan/chunk_table.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan_options.h"

namespace penstock {

// Of the order's definition; a change of anything that decides it needs a new one.
inline constexpr uint64_t kOrderVersion = 1;

// docs/concepts/order.md has its rules. It depends on the table and
// the options alone: not on the batch size, ranks, servers or time. Immutable, thread-safe.
class Plan {
 public:
  // kInvalidArgument: options or a table out of range. kFailedPrecondition: the split has no
  // records.
  static absl::StatusOr<Plan> Create(ChunkTable table, const PlanOptions& options);

  // Records of the split: the rows of every epoch.
  uint64_t rows() const { return rows_; }
  // With what was left open decided: lanes is at most the chunks; strip_rows is not 0. Without
  // shuffling one lane, windows of one chunk, and strip_rows the rows of the largest one.
  const PlanOptions& options() const { return options_; }
  uint32_t lanes() const { return options_.lanes; }
  uint32_t strip_rows() const { return options_.strip_rows; }
  bool shuffle() const { return options_.shuffle; }

  uint32_t num_chunks() const { return static_cast<uint32_t>(table_.rows.size()); }
  // Records of the split. REQUIRES: chunk < num_chunks().
  uint32_t chunk_rows(uint32_t chunk) const { return table_.rows[chunk]; }
  // In memory, after decompression. REQUIRES: chunk < num_chunks().
  uint32_t chunk_bytes(uint32_t chunk) const { return table_.bytes[chunk]; }

  // What a cursor belongs to: the content, the split, the options as decided, kOrderVersion.
  uint64_t fingerprint() const { return fingerprint_; }

  // O(chunks): bench/plan_bench.cc.
  EpochOrder Epoch(uint64_t epoch) const { return EpochOrder(table_, options_, epoch); }

 private:
  Plan(ChunkTable table, const PlanOptions& options, uint64_t rows);

  ChunkTable table_;
  PlanOptions options_;
  uint64_t rows_;
  uint64_t fingerprint_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_PLAN_H_
