// Diagnoses why a chunk's bytes differ from those that were indexed.
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
  std::optional<Damage> damage;  // Set with kDataLoss.
  bool needs_spare = false;      // As in StreamError.
};

// Copies `error` for another thread, without shared memory. The packaged absl::Status counts
// references where TSan cannot see it, so TSan would report the last delete as a race.
LoadError Unshared(const LoadError& error);
absl::Status Unshared(const absl::Status& status);

// Returns "shard 'PATH', chunk at OFFSET".
std::string ChunkName(const ShardRef& shard, const ChunkRef& chunk);

// Returns kFailedPrecondition: `what` shows that the shard is not the one that was indexed.
LoadError ShardChanged(const ShardRef& shard, absl::string_view what);

// Returns kDataLoss for one record of the chunk.
LoadError RecordDamaged(const ShardRef& shard, const ChunkRef& chunk, uint32_t record,
                        bool rest_of_chunk, const absl::Status& why);

// Returns the error for a payload that a packer refused because of `why`: kDataLoss with damage, or
// else an error of the spec.
LoadError RecordRefused(const ShardRef& shard, const ChunkRef& chunk, uint32_t record,
                        const absl::Status& why);

// Returns the error for a chunk whose CRC is wrong although the CRCs of `records` records are
// right. `what` describes these records in the message. kDataLoss: the damage is where these CRCs
// do not reach, in a header of a compressed chunk. kFailedPrecondition: the shard has changed.
LoadError SoundButOther(const ShardRef& shard, const ChunkRef& chunk, uint32_t records,
                        absl::string_view what);

// Looks for the first damaged record in `raw`, the decompressed bytes of the chunk, with the CRCs
// of the records. kDataLoss names the record. If all CRCs are right, the result is that of
// SoundButOther().
LoadError DiagnoseChunk(const ShardRef& shard, const ChunkRef& chunk, std::span<const uint8_t> raw);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_CHUNK_DAMAGE_H_
