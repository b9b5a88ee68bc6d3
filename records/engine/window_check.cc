#include "records/engine/window_check.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

absl::Status CheckShard(const ShardRef& shard, const EngineLimits& limits) {
  if (shard.path.empty()) return absl::InvalidArgumentError("a shard has no path");
  if (shard.path.size() > limits.max_path_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a shard's path has ", shard.path.size(), " bytes; the limit is ", limits.max_path_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckExtent(const ChunkRef& chunk, const ShardRef& shard, const EngineLimits& limits) {
  if (chunk.offset > shard.size || chunk.size > shard.size - chunk.offset || chunk.size == 0) {
    return absl::InvalidArgumentError(absl::StrCat(chunk.size, " bytes at offset ", chunk.offset,
                                                   " are not in shard '", shard.path,
                                                   "', which has ", shard.size, " bytes"));
  }
  const bool frames = shard.container == Container::kTfRecord;
  if (frames && chunk.raw_size != chunk.size) {
    return absl::InvalidArgumentError(absl::StrCat("raw_size ", chunk.raw_size, " and size ",
                                                   chunk.size, " differ in a TFRecord file"));
  }
  if (std::max(chunk.raw_size, chunk.size) > limits.max_chunk_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("shard '", shard.path, "': a chunk of ", std::max(chunk.raw_size, chunk.size),
                     " bytes; the limit is ", limits.max_chunk_bytes, ": ",
                     frames ? "index it again with smaller chunks"
                            : "pack it again with penstock pack, which cuts it into chunks"));
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const ChunkRef& chunk, bool has_holdout) {
  if (chunk.records == 0 || chunk.records > chunk.raw_size / kFrameOverhead) {
    return absl::InvalidArgumentError(
        absl::StrCat(chunk.records, " records in ", chunk.raw_size, " bytes are impossible"));
  }
  if (chunk.holdout > chunk.records || (chunk.holdout > 0 && !has_holdout)) {
    return absl::InvalidArgumentError(
        absl::StrCat(chunk.holdout, " of ", chunk.records, " records are held out",
                     has_holdout ? "" : ", but the stream defined no holdout split"));
  }
  if (chunk.ordinal > std::numeric_limits<int64_t>::max() - uint64_t{chunk.records}) {
    return absl::InvalidArgumentError(absl::StrCat("ordinal ", chunk.ordinal, " is out of range"));
  }
  return absl::OkStatus();
}

uint32_t SplitRows(const ChunkRef& chunk, Split split) {
  switch (split) {
    case Split::kAll:
      return chunk.records;
    case Split::kTrain:
      return chunk.records - chunk.holdout;
    case Split::kHoldout:
      return chunk.holdout;
  }
  return 0;
}

absl::Status CheckChunk(const ChunkRef& chunk, const OpenWindow& window, bool has_holdout,
                        const EngineLimits& limits) {
  if (chunk.shard >= window.shards.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "refers to shard ", chunk.shard, ", but the window has ", window.shards.size(), " shards"));
  }
  PENSTOCK_RETURN_IF_ERROR(CheckExtent(chunk, window.shards[chunk.shard], limits));
  return CheckCounts(chunk, has_holdout);
}

absl::Status CheckDamage(const OpenWindow& window) {
  for (const DamagedRecord& damaged : window.damaged) {
    if (damaged.chunk < window.chunks.size() &&
        damaged.record < window.chunks[damaged.chunk].records) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat("record ", damaged.record, " of chunk ",
                                                   damaged.chunk,
                                                   " is listed as damaged, but there is none"));
  }
  return absl::OkStatus();
}

absl::Status CheckAll(const OpenWindow& window, bool has_holdout, const EngineLimits& limits) {
  const size_t row_chunks = window.num_row_chunks();
  if (row_chunks == 0) return absl::InvalidArgumentError("has no chunk");
  const size_t spares = window.chunks.size() - row_chunks;  // A spare may be in a shard of its own.
  if (row_chunks > limits.max_chunks_per_window ||
      window.shards.size() > limits.max_chunks_per_window + spares) {
    return absl::ResourceExhaustedError(absl::StrCat("has ", row_chunks, " chunks of ",
                                                     window.shards.size(), " shards; the limit is ",
                                                     limits.max_chunks_per_window));
  }
  for (const ShardRef& shard : window.shards) PENSTOCK_RETURN_IF_ERROR(CheckShard(shard, limits));
  uint64_t rows = 0;
  for (size_t i = 0; i < window.chunks.size(); ++i) {
    const ChunkRef& chunk = window.chunks[i];
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(CheckChunk(chunk, window, has_holdout, limits), absl::StrCat("chunk ", i)));
    if (i < row_chunks) rows += SplitRows(chunk, window.split);
  }
  if (rows != window.rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its chunks have ", rows, " rows in the split, but the window states ", window.rows));
  }
  return CheckDamage(window);
}

}  // namespace

absl::Status CheckWindow(const OpenWindow& window, bool has_holdout, const EngineLimits& limits) {
  return Annotate(CheckAll(window, has_holdout, limits), absl::StrCat("window ", window.window));
}

absl::Status CheckFetch(const Fetch& fetch, uint32_t window_rows) {
  const auto fail = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request ", fetch.request, ": rows ", fetch.first_row, " + [0, ", fetch.rows, ") + ",
        fetch.stride, " * [0, ", fetch.count, ") of window ", fetch.window, ": ", why));
  };
  if (fetch.rows == 0 || fetch.count == 0) return fail("asks for no row");
  if (fetch.count > 1 && fetch.stride < fetch.rows) return fail("strips overlap");
  const uint64_t last = fetch.first_row + uint64_t{fetch.count - 1} * fetch.stride;
  // `last` is below 2^64 - 2^32, so the sum cannot overflow.
  if (last + fetch.rows > window_rows) {
    return fail(absl::StrCat("the window has ", window_rows, " rows"));
  }
  if (fetch.dtype < WireDtype::kPacked || fetch.dtype > WireDtype::kF64) {
    return fail(absl::StrCat("unknown dtype ", static_cast<int>(fetch.dtype)));
  }
  return absl::OkStatus();
}

}  // namespace penstock
