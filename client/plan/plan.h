// The plan: decides, from a chunk table and options, which records come in which order in every
// epoch.
#ifndef PENSTOCK_CLIENT_PLAN_PLAN_H_
#define PENSTOCK_CLIENT_PLAN_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/plan/chunk_table.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan_options.h"

namespace penstock {

// Version of the order's definition. A change to anything that decides the order needs a new
// version.
inline constexpr uint64_t kOrderVersion = 1;

// docs/concepts/order.md has the rules. The order depends only on the table and the options, not on
// batch size, ranks, servers or time. Immutable, thread-safe.
class Plan {
 public:
  // kInvalidArgument: an option or the table is out of range. kFailedPrecondition: the split has no
  // records.
  static absl::StatusOr<Plan> Create(ChunkTable table, const PlanOptions& options);

  // Number of records of the split, which is the number of rows of every epoch.
  uint64_t rows() const { return rows_; }
  // The options with every default resolved: `lanes` is at most the number of chunks, and
  // `strip_rows` is not 0. Without shuffling there is one lane, a window is one chunk, and
  // `strip_rows` is the number of rows of the largest chunk.
  const PlanOptions& options() const { return options_; }
  uint32_t lanes() const { return options_.lanes; }
  uint32_t strip_rows() const { return options_.strip_rows; }
  bool shuffle() const { return options_.shuffle; }

  uint32_t num_chunks() const { return static_cast<uint32_t>(table_.rows.size()); }
  // Number of records of the split in the chunk. REQUIRES: chunk < num_chunks().
  uint32_t chunk_rows(uint32_t chunk) const { return table_.rows[chunk]; }
  // The chunk's size in memory, after decompression. REQUIRES: chunk < num_chunks().
  uint32_t chunk_bytes(uint32_t chunk) const { return table_.bytes[chunk]; }

  // Identifies the order that a cursor belongs to: a hash of the content, the split, the resolved
  // options and kOrderVersion.
  uint64_t fingerprint() const { return fingerprint_; }

  // Computes the order of an epoch. O(chunks); bench/plan_bench.cc measures it.
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
