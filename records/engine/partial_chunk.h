// The sound records of a chunk in which others are damaged.
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

// Packs what `damage` does not list; every record packed holds its own CRCs. nullopt, with the
// reason in `error`: as ChunkLoader::Load(), where kDataLoss names the first damaged record that is
// not listed. `checksum_holds`: of the whole chunk; what else breaks it must be listed.
std::optional<Chunk> PackSoundRecords(PageMemory& memory, const ShardRef& shard,
                                      const ChunkRef& chunk, const ChunkLayout& layout,
                                      RecordPacker& packer, std::span<const uint8_t> raw,
                                      const ListedDamage& damage, bool checksum_holds,
                                      LoadError& error);

// A chunk none of whose records is sound.
Chunk DamagedChunk(const ChunkRef& chunk, const ListedDamage& damage);

// The split of a damaged record is unknown, the manifest's count is not: the first damaged ones of
// the chunk are taken to be those of the holdout split that are missing. False: the sound records
// contradict the count.
bool SplitDamagedRecords(const ChunkRef& chunk, const ListedDamage& damage, Chunk& packed);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_PARTIAL_CHUNK_H_
