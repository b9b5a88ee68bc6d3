#include "cli/data/record_sample.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"

namespace penstock {
namespace {

// The chunk's framed records.
absl::Status ReadChunk(const Manifest& manifest, const ChunkInfo& chunk,
                       std::vector<uint8_t>& raw) {
  const ShardInfo& shard = manifest.shards()[chunk.shard];
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source,
                            FileSource::Open(manifest.ShardPath(chunk.shard)));
  std::vector<uint8_t> bytes(chunk.size);
  PENSTOCK_RETURN_IF_ERROR(source->ReadAt(chunk.offset, bytes));
  if (source->size() != shard.size || Crc32c(bytes) != chunk.crc32c) {
    return absl::FailedPreconditionError(
        absl::StrCat(source->name(), ": chunk at offset ", chunk.offset,
                     " is not what was indexed: the file changed or is damaged; index it again"));
  }
  if (shard.compression == Compression::kNone) {
    raw = std::move(bytes);
    return absl::OkStatus();
  }
  raw.resize(chunk.raw_size);
  return Annotate(Decompressor(shard.compression).DecompressExactly(bytes, raw), source->name());
}

}  // namespace

absl::Status ForEachRecord(const ByteSource& shard,
                           absl::FunctionRef<absl::Status(const Record&)> visit) {
  TfRecordReader reader(shard);
  Record record;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(bool more, reader.Next(record));
    if (!more) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(visit(record));
    if (record.number % 4096 == 0) PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
  }
}

absl::Status SampleRecords(const Manifest& manifest, uint64_t limit,
                           absl::FunctionRef<absl::Status(const ChunkInfo&, const Record&)> visit) {
  const uint64_t total = manifest.num_records(Split::kAll);
  const uint64_t step = std::max<uint64_t>(1, limit > 0 ? (total + limit - 1) / limit : 1);
  std::vector<uint8_t> raw;
  std::vector<std::span<const uint8_t>> payloads;
  uint64_t seen = 0;
  for (size_t i = 0; i < manifest.num_chunks() && seen < limit; i += step) {
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    const ChunkInfo chunk = manifest.chunk(i);
    PENSTOCK_RETURN_IF_ERROR(ReadChunk(manifest, chunk, raw));
    payloads.clear();
    PENSTOCK_RETURN_IF_ERROR(ParseFrames(raw, Verify::kLength, payloads));
    for (size_t k = 0; k < payloads.size() && seen < limit; ++k, ++seen) {
      Record record{chunk.first_record + k, 0, payloads[k]};
      PENSTOCK_RETURN_IF_ERROR(visit(chunk, record));
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock
