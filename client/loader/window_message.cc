#include "client/loader/window_message.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/fetch/fetch_controller.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

ChunkRef MakeChunkRef(const ChunkInfo& chunk, uint32_t shard) {
  ChunkRef ref;
  ref.shard = shard;
  ref.offset = chunk.offset;
  ref.size = chunk.size;
  ref.raw_size = chunk.raw_size;
  ref.records = chunk.records;
  ref.holdout = chunk.holdout;
  ref.crc32c = chunk.crc32c;
  ref.ordinal = chunk.ordinal;
  return ref;
}

// Adds the records of `damaged` that are in the message's chunks.
void AddDamaged(std::span<const Damage> damaged, OpenWindow& message) {
  for (const Damage& damage : damaged) {
    for (uint32_t i = 0; i < message.chunks.size(); ++i) {
      const ChunkRef& chunk = message.chunks[i];
      if (chunk.offset != damage.chunk_offset) continue;
      if (message.shards[chunk.shard].path != damage.shard) continue;
      message.damaged.push_back({i, damage.record, damage.rest_of_chunk});
    }
  }
}

// Returns the chunk's number in the manifest, or nullopt if the manifest does not know it. The
// chunks of a shard are consecutive, ordered by offset.
std::optional<uint32_t> ChunkOf(const Manifest& manifest, const ShardPaths& shards,
                                const Damage& damage) {
  const auto path = std::find(shards.paths.begin(), shards.paths.end(), damage.shard);
  if (path == shards.paths.end()) return std::nullopt;
  auto [first, end] = manifest.shard_chunks(path - shards.paths.begin());
  while (first < end) {
    const size_t middle = first + (end - first) / 2;
    const uint64_t offset = manifest.chunk(middle).offset;
    if (offset == damage.chunk_offset) return static_cast<uint32_t>(middle);
    if (offset < damage.chunk_offset) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return std::nullopt;
}

// Returns null if no shard's path is absolute.
const ShardInfo* FirstAbsolute(const Manifest& manifest) {
  const auto shards = manifest.shards();
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [](const ShardInfo& shard) { return shard.absolute; });
  return found == shards.end() ? nullptr : &*found;
}

}  // namespace

absl::Status ShardPaths::CheckLocal(const Manifest& manifest, const std::string& data_root) {
  const ShardInfo* shard = FirstAbsolute(manifest);
  if (!data_root.empty() || shard == nullptr) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "local: the path of shard '", shard->path,
      "' is absolute, but local: reads only the manifest's folder ", manifest.base_dir(),
      "; if you trust the manifest, give --data-root / to read any path that it "
      "names"));
}

ShardPaths ShardPaths::Make(const Manifest& manifest, std::string data_root) {
  ShardPaths made{std::move(data_root), {}};
  const auto shards = manifest.shards();
  if ((made.data_root.empty() || made.data_root == "/") && FirstAbsolute(manifest) != nullptr) {
    made.data_root = "/";
    const fs::path base =
        fs::absolute(manifest.base_dir().empty() ? "." : manifest.base_dir()).lexically_normal();
    // A ".." in a shard's path stays, so that the server refuses it.
    for (const ShardInfo& shard : shards) {
      made.paths.push_back((base / shard.path).relative_path());
    }
    return made;
  }
  if (made.data_root.empty()) made.data_root = manifest.base_dir();
  if (made.data_root.empty()) made.data_root = ".";
  for (const ShardInfo& shard : shards) made.paths.push_back(shard.path);
  return made;
}

uint64_t CountDamaged(const Manifest& manifest, const ShardPaths& shards, const Damage& damage) {
  if (!damage.rest_of_chunk) return 1;
  const std::optional<ChunkRecords> chunk = FindDamage(manifest, shards, damage);
  return chunk && chunk->records > damage.record ? chunk->records - damage.record : 1;
}

std::string NameDamage(const Manifest& manifest, const ShardPaths& shards, const Damage& damage) {
  const std::string name = DamageName(damage);
  const std::optional<uint32_t> chunk = ChunkOf(manifest, shards, damage);
  if (!chunk) return name;
  return absl::StrCat(name, " (record ", manifest.chunk(*chunk).first_record + damage.record,
                      " of the shard", damage.rest_of_chunk ? " and later)" : ")");
}

std::string NameRecord(const Manifest& manifest, const ShardPaths& shards, uint64_t ordinal) {
  const auto [number, record] = manifest.Locate(ordinal);
  const ChunkInfo chunk = manifest.chunk(number);
  return NameDamage(manifest, shards, {shards.paths[chunk.shard], chunk.offset, record});
}

std::optional<ChunkRecords> FindDamage(const Manifest& manifest, const ShardPaths& shards,
                                       const Damage& damage) {
  const std::optional<uint32_t> chunk = ChunkOf(manifest, shards, damage);
  if (!chunk) return std::nullopt;
  return ChunkRecords{*chunk, manifest.chunk(*chunk).records};
}

OpenWindow MakeWindowMessage(const Manifest& manifest, const ShardPaths& shards,
                             const PlanOptions& options, const WindowRequest& window) {
  OpenWindow message;
  message.window = window.number;
  message.split = options.split;
  message.shuffle = options.shuffle;
  message.key = window.order->WindowKey(window.id);
  message.rows = window.order->WindowRows(window.id);
  message.needed_at = window.needed_at;
  message.augmentation_key = window.order->augmentation_key();
  std::vector<uint32_t> shard_numbers;  // Numbers of the shards, in the order of message.shards.
  const auto add = [&](uint32_t number) {
    const ChunkInfo chunk = manifest.chunk(number);
    // A window has few chunks, most of them of different shards, so a search is cheaper than a
    // table.
    auto known = std::find(shard_numbers.begin(), shard_numbers.end(), chunk.shard);
    if (known == shard_numbers.end()) {
      const ShardInfo& shard = manifest.shards()[chunk.shard];
      message.shards.push_back(
          {shards.paths[chunk.shard], shard.container, shard.size, shard.label});
      known = shard_numbers.insert(shard_numbers.end(), chunk.shard);
    }
    message.chunks.push_back(
        MakeChunkRef(chunk, static_cast<uint32_t>(known - shard_numbers.begin())));
  };
  for (const uint32_t number : window.order->WindowChunks(window.id)) add(number);
  if (window.spare) add(*window.spare);
  message.has_spare = window.spare.has_value();
  AddDamaged(window.damaged, message);
  return message;
}

}  // namespace penstock
