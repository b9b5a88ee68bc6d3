#include "cli/data/record_sample.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/crc32c.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "cli/terminal/interrupt.h"
#include "records/container/shard_reader.h"

namespace penstock {
namespace {

// Reads the chunk's framed records.
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
                     " differs from the index: the file changed or is damaged; index it again"));
  }
  if (shard.container == Container::kTfRecord) {
    raw = std::move(bytes);
    return absl::OkStatus();
  }
  raw.resize(chunk.raw_size);
  const StoredRecords stored{.container = shard.container,
                             .record_bytes = chunk.size / chunk.records,
                             .path = shard.path,
                             .label = shard.label};
  return Annotate(MakeFrames(stored, bytes, raw), source->name());
}

// Chooses a record of part `part` of `parts` equal parts.
uint64_t OneOf(uint64_t part, uint64_t parts, uint64_t total) {
  // Computes part * total / parts without a product that might overflow.
  const auto begin = [=](uint64_t i) { return total / parts * i + total % parts * i / parts; };
  return begin(part) + CounterRng(/*key=*/0, part).Below(begin(part + 1) - begin(part));
}

}  // namespace

absl::Status ForEachRecord(const ByteSource& shard,
                           absl::FunctionRef<absl::Status(const Record&)> visit) {
  PENSTOCK_ASSIGN_OR_RETURN(ShardReader reader, ShardReader::Create(shard));
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

absl::Status SampleEvenly(
    const Manifest& manifest, uint64_t count,
    absl::FunctionRef<void(uint64_t ordinal, std::span<const uint8_t> payload)> visit) {
  const uint64_t total = manifest.num_records(Split::kAll);
  count = std::min(count, total);
  std::vector<uint8_t> raw;
  std::vector<std::span<const uint8_t>> payloads;
  size_t loaded = manifest.num_chunks();
  for (uint64_t i = 0; i < count; ++i) {
    PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
    const uint64_t ordinal = OneOf(i, count, total);
    const std::pair<size_t, uint32_t> at = manifest.Locate(ordinal);
    if (at.first != loaded) {
      PENSTOCK_RETURN_IF_ERROR(ReadChunk(manifest, manifest.chunk(at.first), raw));
      payloads.clear();
      PENSTOCK_RETURN_IF_ERROR(ParseFrames(raw, Verify::kLength, payloads));
      loaded = at.first;
    }
    visit(ordinal, payloads[at.second]);
  }
  return absl::OkStatus();
}

}  // namespace penstock
