// Why a chunk's bytes are not what was indexed.
#ifndef PENSTOCK_RECORDS_ENGINE_CHUNK_DAMAGE_H_
#define PENSTOCK_RECORDS_ENGINE_CHUNK_DAMAGE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "records/engine/messages.h"

namespace penstock {

struct LoadError {
  absl::Status status;
  std::optional<Damage> damage;  // With kDataLoss.
  bool needs_spare = false;      // As in StreamError.
};

// A copy that shares no memory with `error`, for another thread: the packaged absl::Status counts
// its references where TSan does not look, so that it would report the last one's delete as a race.
LoadError Unshared(const LoadError& error);
absl::Status Unshared(const absl::Status& status);

// "shard 'PATH', chunk at OFFSET".
std::string ChunkName(const ShardRef& shard, const ChunkRef& chunk);

// kFailedPrecondition: `what` shows that the shard is no longer the one that was indexed.
LoadError ShardChanged(const ShardRef& shard, absl::string_view what);

// kDataLoss at one record of the chunk.
LoadError RecordDamaged(const ShardRef& shard, const ChunkRef& chunk, uint32_t record,
                        bool rest_of_chunk, const absl::Status& why);

// `why` a packer refused the payload of one record: kDataLoss with damage, else the spec's fault.
LoadError RecordRefused(const ShardRef& shard, const ChunkRef& chunk, uint32_t record,
                        const absl::Status& why);

// The chunk's CRC is wrong, but so many records of it hold their own CRCs, and they are `what` (for
// the message). kDataLoss: the chunk is damaged where these CRCs do not look, in a header of a
// compressed chunk. kFailedPrecondition: the shard has changed.
LoadError SoundButOther(const ShardRef& shard, const ChunkRef& chunk, uint32_t records,
                        absl::string_view what);

// Looks for the first damaged record in `raw`, the chunk's decompressed bytes, by the records' own
// CRCs. kDataLoss names it; where all CRCs hold, SoundButOther() tells.
LoadError DiagnoseChunk(const ShardRef& shard, const ChunkRef& chunk, std::span<const uint8_t> raw);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_CHUNK_DAMAGE_H_
