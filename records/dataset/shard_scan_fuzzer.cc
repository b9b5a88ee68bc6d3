// Scans any bytes as a shard. Everything in chunks must be readable again as whole records.
#include <cstdlib>
#include <vector>

#include "base/crc32c.h"
#include "base/io/testing/memory_source.h"
#include "records/container/frames.h"
#include "records/dataset/shard_scan.h"
#include "records/format/tfrecord.h"

namespace {

void CheckChunk(std::span<const uint8_t> bytes, penstock::Container container,
                const penstock::ManifestBuilder::Chunk& chunk) {
  if (penstock::Crc32c(bytes) != chunk.crc32c) abort();
  std::vector<uint8_t> raw(bytes.begin(), bytes.end());
  if (container != penstock::Container::kTfRecord) {
    raw.resize(chunk.raw_size);
    if (!penstock::MakeFrames({.container = container}, bytes, raw).ok()) abort();
  }
  std::vector<std::span<const uint8_t>> payloads;
  if (!penstock::ParseFrames(raw, penstock::Verify::kPayload, payloads).ok()) abort();
  if (payloads.size() != chunk.records) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  penstock::ScanOptions options;
  options.chunk_target = 64;
  options.collect_damage = true;
  options.max_raw_chunk_bytes = 1 << 20;
  penstock::MemorySource source("fuzz", std::vector<uint8_t>(data, data + size));
  absl::StatusOr<penstock::ShardScan> scan = penstock::ScanShard(source, options);
  if (!scan.ok()) return 0;
  uint64_t end = 0;
  for (const penstock::ManifestBuilder::Chunk& chunk : scan->chunks) {
    end += chunk.gap;
    if (end + chunk.size > size) abort();
    CheckChunk({data + end, chunk.size}, scan->container, chunk);
    end += chunk.size;
  }
  return 0;
}
