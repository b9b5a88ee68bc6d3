// Describes a window of the plan as a message for a server.
#ifndef PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_
#define PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "client/fetch/damage_judge.h"
#include "client/fetch/fetch_actions.h"
#include "client/plan/plan_options.h"
#include "records/dataset/manifest.h"
#include "records/engine/messages.h"

namespace penstock {

// The paths by which servers find shards beneath their data root.
struct ShardPaths {
  std::string data_root;           // The data root of "local:", the server in this process.
  std::vector<std::string> paths;  // Path of each shard, relative to the data root.

  // Checks that "local:" can read every shard with this data root; empty means the manifest's own
  // folder. kPermissionDenied: a shard's path is absolute, and `data_root` is empty. With "/" it
  // may be read.
  static absl::Status CheckLocal(const Manifest& manifest, const std::string& data_root);

  // An empty `data_root` means the manifest's own folder. But if any shard's path is absolute,
  // empty and "/" both mean the root of the file system, and all paths are relative to that.
  static ShardPaths Make(const Manifest& manifest, std::string data_root);
};

// Returns the number of records that `damage` stands for; 1 if the manifest does not know its
// chunk. O(chunks).
uint64_t CountDamaged(const Manifest& manifest, const ShardPaths& shards, const Damage& damage);

// "a.tfrecord: chunk at offset 65536, record 3 (record 1203 of the shard)". Both numbers count from
// 0; `penstock which` prints the second. It is left out if the manifest does not know the chunk.
// O(chunks).
std::string NameDamage(const Manifest& manifest, const ShardPaths& shards, const Damage& damage);

// The same text for a record, given by its ordinal. REQUIRES: the manifest has it.
std::string NameRecord(const Manifest& manifest, const ShardPaths& shards, uint64_t ordinal);

// Returns the chunk that `damage` is in, or nullopt if the manifest has no such chunk. O(shards).
std::optional<ChunkRecords> FindDamage(const Manifest& manifest, const ShardPaths& shards,
                                       const Damage& damage);

OpenWindow MakeWindowMessage(const Manifest& manifest, const ShardPaths& shards,
                             const PlanOptions& options, const WindowRequest& window);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_
