#include "records/engine/partial_chunk.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

// The place where a walk over the frames has ended.
struct Walk {
  size_t offset = 0;
  uint32_t record = 0;
  bool saw_damage = false;
};

std::string Contradiction(const ChunkRef& chunk) {
  return absl::StrCat("records, including its listed damage, but the manifest says ",
                      chunk.records);
}

}  // namespace

std::optional<Chunk> PackSoundRecords(PageMemory& memory, const ShardRef& shard,
                                      const ChunkRef& chunk, const ChunkLayout& layout,
                                      RecordPacker& packer, std::span<const uint8_t> raw,
                                      const ListedDamage& damage, bool checksum_holds,
                                      LoadError& error) {
  Chunk packed(memory, chunk.records, layout.row_bytes(), layout.ValueBytes(raw.size()));
  uint8_t* values = packed.rows() + chunk.records * layout.row_bytes();
  Walk walk;
  for (; walk.record < chunk.records && walk.offset < raw.size(); ++walk.record) {
    const bool listed = damage.Contains(walk.record);
    const auto frame = ParseFrame(raw, walk.offset, Verify::kPayload);
    if (frame.ok()) {
      walk.offset += frame->size();
      if (listed) continue;
      const auto holdout =
          packer.Pack(frame->payload, packed.rows() + walk.record * layout.row_bytes(), values);
      if (!holdout.ok()) {
        error = RecordRefused(shard, chunk, walk.record, holdout.status());
        return std::nullopt;
      }
      if (*holdout) packed.SetHoldout(walk.record);
      continue;
    }
    walk.saw_damage = true;
    const auto length = ParseFrame(raw, walk.offset, Verify::kLength);
    if (!listed || (!length.ok() && walk.record < damage.rest)) {
      error = RecordDamaged(shard, chunk, walk.record, !length.ok(), frame.status());
      return std::nullopt;
    }
    if (!length.ok()) break;
    walk.offset += length->size();
  }
  const bool whole = damage.rest >= chunk.records;
  if (walk.record < std::min(damage.rest, chunk.records) || (whole && walk.offset != raw.size())) {
    error = ShardChanged(shard, absl::StrCat("the chunk at ", chunk.offset, " holds ", walk.record,
                                             " ", Contradiction(chunk)));
    return std::nullopt;
  }
  if (!checksum_holds && !walk.saw_damage) {
    error = SoundButOther(shard, chunk, walk.record, Contradiction(chunk));
    return std::nullopt;
  }
  return packed;
}

Chunk DamagedChunk(const ChunkRef& chunk, const ListedDamage& damage) {
  Chunk packed(chunk.records);
  SplitDamagedRecords(chunk, damage, packed);
  return packed;
}

bool SplitDamagedRecords(const ChunkRef& chunk, const ListedDamage& damage, Chunk& packed) {
  packed.SetDamage(damage);
  for (uint32_t r = 0; r < chunk.records && packed.num_holdout() < chunk.holdout; ++r) {
    if (damage.Contains(r)) packed.SetHoldout(r);
  }
  return packed.num_holdout() == chunk.holdout;
}

}  // namespace penstock
