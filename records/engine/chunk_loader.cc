#include "records/engine/chunk_loader.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "records/container/frames.h"
#include "records/engine/partial_chunk.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

constexpr size_t kKeptPackers = 8;

}  // namespace

absl::Status ChunkLoader::ReadOnce(const ShardRef& shard, const ChunkRef& chunk,
                                   std::span<uint8_t> out) {
  const auto start = std::chrono::steady_clock::now();
  const StorageSpeed::Reading reading(speed_, shard.path);
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<const FileSource> file, files_.Open(shard.path));
  if (file->size() != shard.size) {
    return ShardChanged(shard, absl::StrCat("it has ", file->size(), " bytes, the manifest says ",
                                            shard.size))
        .status;
  }
  absl::Status status = file->ReadAt(chunk.offset, out);
  const auto took = std::chrono::steady_clock::now() - start;
  read_time_ += took;
  speed_.Note(out.size(), took);
  if (absl::IsFailedPrecondition(status)) return ShardChanged(shard, status.message()).status;
  return status;
}

// If a file was replaced, the old one is still open. So bytes that do not match are read once more,
// after the file is opened again.
absl::StatusOr<std::span<const uint8_t>> ChunkLoader::Read(const ShardRef& shard,
                                                           const ChunkRef& chunk,
                                                           bool& checksum_holds) {
  std::span<uint8_t> bytes = bytes_.Take(chunk.size);
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0) files_.Drop(shard.path);
    status = ReadOnce(shard, chunk, bytes);
    checksum_holds = status.ok() && Crc32c(bytes) == chunk.crc32c;
    if (checksum_holds) break;
  }
  PENSTOCK_RETURN_IF_ERROR(status);
  return bytes;
}

absl::StatusOr<std::span<const uint8_t>> ChunkLoader::FramesOf(const ShardRef& shard,
                                                               const ChunkRef& chunk,
                                                               std::span<const uint8_t> bytes) {
  if (shard.container == Container::kTfRecord) return bytes;
  std::span<uint8_t> raw = raw_.Take(chunk.raw_size);
  const StoredRecords stored{.container = shard.container,
                             .record_bytes = chunk.size / chunk.records,
                             .path = shard.path,
                             .label = shard.label};
  PENSTOCK_RETURN_IF_ERROR(MakeFrames(stored, bytes, raw));
  return raw;
}

absl::StatusOr<RecordPacker*> ChunkLoader::PackerFor(
    const std::shared_ptr<const ChunkLayout>& layout) {
  for (auto it = packers_.begin(); it != packers_.end(); ++it) {
    if (it->layout != layout) continue;
    packers_.splice(packers_.begin(), packers_, it);
    return &it->packer;
  }
  PENSTOCK_ASSIGN_OR_RETURN(RecordPacker packer, RecordPacker::Create(*layout));
  packers_.push_front({layout, std::move(packer)});
  if (packers_.size() > kKeptPackers) packers_.pop_back();
  return &packers_.front().packer;
}

std::optional<Chunk> ChunkLoader::Pack(const ShardRef& shard, const ChunkRef& chunk,
                                       const ChunkLayout& layout, RecordPacker& packer,
                                       std::span<const uint8_t> raw, LoadError& error) {
  Chunk packed(memory_, chunk.records, layout.row_bytes(), layout.ValueBytes(raw.size()));
  uint8_t* values = packed.rows() + chunk.records * layout.row_bytes();
  uint32_t record = 0;
  Frame frame;
  for (size_t offset = 0; offset < raw.size(); offset += frame.size(), ++record) {
    if (!TryParseFrame(raw, offset, Verify::kLength, frame)) {
      error = DiagnoseChunk(shard, chunk, raw);
      return std::nullopt;
    }
    if (record == chunk.records) break;
    absl::StatusOr<bool> holdout =
        packer.Pack(frame.payload, packed.rows() + record * layout.row_bytes(), values);
    if (!holdout.ok()) {
      error = RecordRefused(shard, chunk, record, holdout.status());
      return std::nullopt;
    }
    if (*holdout) packed.SetHoldout(record);
    if (offset + frame.size() == raw.size() && record + 1 == chunk.records) return packed;
  }
  error = ShardChanged(shard, absl::StrCat("the chunk at ", chunk.offset, " holds ",
                                           record < chunk.records ? "fewer" : "more", " than the ",
                                           chunk.records, " records of the manifest"));
  return std::nullopt;
}

std::optional<Chunk> ChunkLoader::Load(const ShardRef& shard, const ChunkRef& chunk,
                                       const std::shared_ptr<const ChunkLayout>& layout,
                                       const ListedDamage& damage, LoadError& error) {
  const auto fail = [&](const absl::Status& status) {
    error = {Annotate(status, ChunkName(shard, chunk)), std::nullopt};
    return std::nullopt;
  };
  if (damage.Count(chunk.records) == chunk.records) return DamagedChunk(chunk, damage);
  absl::StatusOr<RecordPacker*> packer = PackerFor(layout);
  if (!packer.ok()) return fail(packer.status());
  bool checksum_holds = false;
  auto bytes = Read(shard, chunk, checksum_holds);
  if (!bytes.ok()) return fail(bytes.status());
  auto raw = FramesOf(shard, chunk, *bytes);
  if (!raw.ok()) {
    // A decompressor may fail for other reasons although the bytes are sound.
    if (checksum_holds && !absl::IsDataLoss(raw.status())) return fail(raw.status());
    error = RecordDamaged(shard, chunk, 0, /*rest_of_chunk=*/true, raw.status());
    return std::nullopt;
  }
  if (!checksum_holds && damage.empty()) {
    error = DiagnoseChunk(shard, chunk, *raw);
    return std::nullopt;
  }
  std::optional<Chunk> packed = damage.empty()
                                    ? Pack(shard, chunk, *layout, **packer, *raw, error)
                                    : PackSoundRecords(memory_, shard, chunk, *layout, **packer,
                                                       *raw, damage, checksum_holds, error);
  if (packed && !SplitDamagedRecords(chunk, damage, *packed)) {
    error = ShardChanged(
        shard, absl::StrCat("the chunk at ", chunk.offset, " has ", packed->num_holdout(),
                            " records in the holdout split, the manifest says ", chunk.holdout));
    return std::nullopt;
  }
  return packed;
}

}  // namespace penstock
