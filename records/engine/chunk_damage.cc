#include "records/engine/chunk_damage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/format/tfrecord.h"

namespace penstock {

absl::Status Unshared(const absl::Status& status) {
  return absl::Status(status.code(), status.message());
}

LoadError Unshared(const LoadError& error) {
  return {Unshared(error.status), error.damage, error.needs_spare};
}

std::string ChunkName(const ShardRef& shard, const ChunkRef& chunk) {
  return absl::StrCat("shard '", shard.path, "', chunk at ", chunk.offset);
}

LoadError ShardChanged(const ShardRef& shard, absl::string_view what) {
  return {absl::FailedPreconditionError(
              absl::StrCat("shard '", shard.path, "' changed since it was indexed: ", what,
                           "; run penstock index --update and restart the readers")),
          std::nullopt};
}

LoadError RecordDamaged(const ShardRef& shard, const ChunkRef& chunk, uint32_t record,
                        bool rest_of_chunk, const absl::Status& why) {
  const absl::Status status(absl::StatusCode::kDataLoss, why.message());
  return {Annotate(status, absl::StrCat(ChunkName(shard, chunk), ", record ", record)),
          Damage{shard.path, chunk.offset, record, rest_of_chunk}};
}

LoadError RecordRefused(const ShardRef& shard, const ChunkRef& chunk, uint32_t record,
                        const absl::Status& why) {
  if (absl::IsDataLoss(why)) {
    return RecordDamaged(shard, chunk, record, /*rest_of_chunk=*/false, why);
  }
  return {Annotate(why, absl::StrCat(ChunkName(shard, chunk), ", record ", record)), std::nullopt};
}

LoadError DiagnoseChunk(const ShardRef& shard, const ChunkRef& chunk,
                        std::span<const uint8_t> raw) {
  uint32_t record = 0;
  for (size_t offset = 0; offset < raw.size(); ++record) {
    absl::StatusOr<Frame> frame = ParseFrame(raw, offset, Verify::kPayload);
    if (!frame.ok()) {
      // If the length is sound, the next record can still be found.
      const bool broken = !ParseFrame(raw, offset, Verify::kLength).ok();
      return RecordDamaged(shard, chunk, record, broken, frame.status());
    }
    offset += frame->size();
  }
  return SoundButOther(shard, chunk, record, "sound records, but not those of the manifest");
}

// The CRCs of the records cover every byte of a plain chunk, so at least one of them shows any
// damage. They do not cover the headers of a compressed chunk. Files of other containers have no
// such CRCs.
LoadError SoundButOther(const ShardRef& shard, const ChunkRef& chunk, uint32_t records,
                        absl::string_view what) {
  if (shard.container == Container::kTfRecord || records != chunk.records) {
    return ShardChanged(shard,
                        absl::StrCat("the chunk at ", chunk.offset, " holds ", records, " ", what));
  }
  return RecordDamaged(shard, chunk, 0, /*rest_of_chunk=*/true,
                       absl::DataLossError("the CRC of the bytes in the file differs from the "
                                           "manifest's, although the records in them are sound"));
}

}  // namespace penstock
