#include "client/plan/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::Status Validate(const PlanOptions& options) {
  if (options.lanes == 0) {
    return absl::InvalidArgumentError("--lanes is 0, but must be at least 1 (default 64)");
  }
  if (options.window_chunks == 0) {
    return absl::InvalidArgumentError("--window-chunks is 0, but must be at least 1 (default 16)");
  }
  if (options.window_chunks > kMaxWindowChunks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--window-chunks is ", options.window_chunks, ", but a window has at most ",
        kMaxWindowChunks, " chunks: index with a larger --chunk-size, or raise --lanes instead"));
  }
  if (options.max_window_bytes == 0) {
    return absl::InvalidArgumentError(
        "max_window_bytes is 0, but must be positive (default 64 MiB)");
  }
  return absl::OkStatus();
}

absl::Status Validate(const ChunkTable& table) {
  if (table.rows.size() != table.bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the chunk table has ", table.rows.size(),
                                                   " counts but ", table.bytes.size(), " sizes"));
  }
  if (table.rows.size() >= std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        table.rows.size(),
        " chunks are more than the limit of 2^32 - 2: index with a larger --chunk-size"));
  }
  return absl::OkStatus();
}

absl::Status NoRows(Split split, size_t num_chunks) {
  if (num_chunks == 0) {
    return absl::FailedPreconditionError(
        "no records are listed, because the shards were empty when they were indexed");
  }
  const absl::string_view advice =
      split == Split::kHoldout ? ": index with --holdout, or choose another split"
                               : ": penstock index --holdout put all into 'holdout'; index with "
                                 "a smaller share, or choose another split";
  return absl::FailedPreconditionError(absl::StrCat(
      "the split '", SplitName(split), "' has no records in ", num_chunks, " chunks", advice));
}

uint64_t Sum(std::span<const uint32_t> values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

// Returns min(16, mean window rows / 16), but at least 1. The mean is that of K chunks, of the byte
// limit or of a whole lane, whichever is least. It is the same for every epoch.
uint32_t DefaultStrip(const ChunkTable& table, const PlanOptions& options, uint64_t rows) {
  const double mean_bytes = static_cast<double>(Sum(table.bytes)) / rows;
  const double chunk_rows = static_cast<double>(rows) / table.rows.size();
  const double window_rows =
      std::min({options.window_chunks * chunk_rows, static_cast<double>(rows) / options.lanes,
                options.max_window_bytes / std::max(mean_bytes, 1.0)});
  return static_cast<uint32_t>(std::clamp(window_rows / 16, 1.0, 16.0));
}

PlanOptions Resolve(const ChunkTable& table, PlanOptions options, uint64_t rows) {
  if (!options.shuffle) {
    options.lanes = options.window_chunks = 1;
    options.strip_rows = *std::max_element(table.rows.begin(), table.rows.end());
    return options;
  }
  options.lanes = static_cast<uint32_t>(std::min<uint64_t>(options.lanes, table.rows.size()));
  if (options.strip_rows == 0) options.strip_rows = DefaultStrip(table, options, rows);
  return options;
}

uint64_t OrderFingerprint(uint64_t content, const PlanOptions& options) {
  const uint64_t numbers[] = {kOrderVersion,
                              content,
                              static_cast<uint64_t>(options.split),
                              options.seed,
                              options.shuffle,
                              options.lanes,
                              options.window_chunks,
                              options.strip_rows,
                              options.max_window_bytes};
  Sha256 hash;
  hash.Update({reinterpret_cast<const uint8_t*>(numbers), sizeof(numbers)});
  const Sha256::Digest digest = hash.Finish();
  uint64_t fingerprint;
  std::memcpy(&fingerprint, digest.data(), sizeof(fingerprint));
  return fingerprint;
}

}  // namespace

absl::StatusOr<Plan> Plan::Create(ChunkTable table, const PlanOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(Validate(options));
  PENSTOCK_RETURN_IF_ERROR(Validate(table));
  const uint64_t rows = Sum(table.rows);
  if (rows == 0) return NoRows(options.split, table.rows.size());
  const PlanOptions resolved = Resolve(table, options, rows);
  return Plan(std::move(table), resolved, rows);
}

Plan::Plan(ChunkTable table, const PlanOptions& options, uint64_t rows)
    : table_(std::move(table)),
      options_(options),
      rows_(rows),
      fingerprint_(OrderFingerprint(table_.content_fingerprint, options_)) {}

}  // namespace penstock
