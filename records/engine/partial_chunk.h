// Packs the sound records of a chunk in which others are damaged.
#ifndef PENSTOCK_RECORDS_ENGINE_PARTIAL_CHUNK_H_
#define PENSTOCK_RECORDS_ENGINE_PARTIAL_CHUNK_H_

#include <cstdint>
#include <optional>
#include <span>

#include "records/engine/chunk.h"
#include "records/engine/chunk_damage.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/listed_damage.h"
#include "records/engine/messages.h"
#include "records/engine/record_packer.h"

namespace penstock {

// Packs the records that `damage` does not list. The CRCs of every packed record are right.
// `checksum_holds` says whether the checksum of the whole chunk is right; if it is not, all damage
// must be listed. Returns nullopt, with the reason in `error`, as ChunkLoader::Load() does.
// kDataLoss names the first damaged record that is not listed.
std::optional<Chunk> PackSoundRecords(PageMemory& memory, const ShardRef& shard,
                                      const ChunkRef& chunk, const ChunkLayout& layout,
                                      RecordPacker& packer, std::span<const uint8_t> raw,
                                      const ListedDamage& damage, bool checksum_holds,
                                      LoadError& error);

// Returns a chunk in which no record is sound.
Chunk DamagedChunk(const ChunkRef& chunk, const ListedDamage& damage);

// Assigns damaged records to splits. Their split is unknown, but the manifest has the number of
// held-out records. So the first damaged records of the chunk are counted as held out until that
// number is reached. Returns false if the sound records contradict the number.
bool SplitDamagedRecords(const ChunkRef& chunk, const ListedDamage& damage, Chunk& packed);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PARTIAL_CHUNK_H_
