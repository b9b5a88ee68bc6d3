#include "bench/big_dataset.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/counter_rng.h"
#include "base/crc32c.h"
#include "base/io/unique_fd.h"
#include "base/status.h"
#include "client/plan/plan.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

constexpr size_t kPositionBytes = 194;
// For each lane, the window that is read and the one announced.
constexpr uint32_t kRealWindows = 2;

std::vector<uint8_t> RandomChunk(uint32_t records) {
  CounterRng rng(1);
  std::vector<uint8_t> chunk;
  for (uint32_t r = 0; r < records; ++r) {
    uint8_t d[kPositionBytes];
    for (uint8_t& byte : d) byte = static_cast<uint8_t>(rng.Next() & rng.Next());
    const int64_t s = static_cast<int64_t>(rng.Below(1000)) + 1;
    ExampleBuilder example;
    example.AddBytes("d", d);
    example.AddInt64("s", {&s, 1});
    AppendFrame(example.Serialize(), chunk);
  }
  return chunk;
}

absl::StatusOr<Manifest> Describe(const BigDatasetOptions& options,
                                  const std::vector<uint8_t>& chunk) {
  ManifestBuilder builder;
  const uint32_t crc = Crc32c(chunk);
  for (uint32_t s = 0; s < options.shards; ++s) {
    builder.AddShard({.path = absl::StrFormat("big-%05d-of-%05d.tfrecord", s, options.shards)});
    for (uint32_t c = 0; c < options.chunks_per_shard; ++c) {
      builder.AddChunk({.size = static_cast<uint32_t>(chunk.size()),
                        .records = options.records_per_chunk,
                        .crc32c = crc});
    }
  }
  return builder.Build();
}

// Returns the chunks that must be written, keyed by shard.
std::map<uint32_t, std::vector<uint32_t>> FirstChunks(const Manifest& manifest, const Plan& plan) {
  std::map<uint32_t, std::vector<uint32_t>> chunks;
  const EpochOrder order = plan.Epoch(0);
  for (uint32_t lane = 0; lane < order.num_lanes(); ++lane) {
    const uint32_t windows = std::min(order.num_windows(lane), kRealWindows);
    for (uint32_t index = 0; index < windows; ++index) {
      for (uint32_t chunk : order.WindowChunks({0, lane, index})) {
        chunks[manifest.chunk(chunk).shard].push_back(chunk);
      }
    }
  }
  return chunks;
}

absl::Status WriteShard(const std::string& path, uint64_t size, const Manifest& manifest,
                        const std::vector<uint32_t>& chunks, const std::vector<uint8_t>& bytes) {
  const UniqueFd file(open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  if (file.get() < 0) return ErrnoToStatus(errno, path);
  for (uint32_t chunk : chunks) {
    const off_t offset = static_cast<off_t>(manifest.chunk(chunk).offset);
    if (pwrite(file.get(), bytes.data(), bytes.size(), offset) !=
        static_cast<ssize_t>(bytes.size())) {
      return ErrnoToStatus(errno, path);
    }
  }
  if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> MakeBigDataset(const std::string& folder, const BigDatasetOptions& options,
                                        const PlanOptions& plan_options) {
  const std::vector<uint8_t> chunk = RandomChunk(options.records_per_chunk);
  PENSTOCK_ASSIGN_OR_RETURN(const Manifest manifest, Describe(options, chunk));
  PENSTOCK_RETURN_IF_ERROR(manifest.Save(folder + "/manifest.pb"));
  PENSTOCK_ASSIGN_OR_RETURN(
      const Plan plan, Plan::Create(MakeChunkTable(manifest, plan_options.split), plan_options));
  const auto first = FirstChunks(manifest, plan);
  uint64_t written = 0;
  for (uint32_t s = 0; s < options.shards; ++s) {
    const auto chunks = first.find(s);
    const std::vector<uint32_t> real =
        chunks == first.end() ? std::vector<uint32_t>() : chunks->second;
    const ShardInfo& shard = manifest.shards()[s];
    PENSTOCK_RETURN_IF_ERROR(
        WriteShard(folder + "/" + shard.path, shard.size, manifest, real, chunk));
    written += real.size() * chunk.size();
  }
  return written;
}

}  // namespace penstock
