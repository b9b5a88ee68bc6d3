// A window of the plan as a message for a server.
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

// How servers find shards: beneath their data root.
struct ShardPaths {
  std::string data_root;           // For a server in this process.
  std::vector<std::string> paths;  // By shard, relative to the data root.

  // kPermissionDenied: a server in this process with this data root, which is empty for the
  // manifest's own folder, would have to read a shard whose path is absolute. With "/" it may.
  static absl::Status CheckLocal(const Manifest& manifest, const std::string& data_root);

  // `data_root` empty: the manifest's own folder. If a shard's path is absolute, empty and "/" mean
  // the file system's root, beneath which all paths are then.
  static ShardPaths Make(const Manifest& manifest, std::string data_root);
};

// How many records `damage` means; 1 if the manifest does not know its chunk. O(chunks).
uint64_t CountDamaged(const Manifest& manifest, const ShardPaths& shards, const Damage& damage);

// "a.tfrecord: chunk at offset 65536, record 3 (record 1203 of the shard)", both from 0 on; the
// second is the number that `penstock which` prints. Without it if the manifest does not know the
// chunk. O(chunks).
std::string NameDamage(const Manifest& manifest, const ShardPaths& shards, const Damage& damage);

// "a.tfrecord: chunk at offset 65536, record 3 (record 1203 of the shard)" of a record by its
// ordinal. REQUIRES: the manifest has it.
std::string NameRecord(const Manifest& manifest, const ShardPaths& shards, uint64_t ordinal);

// The chunk that `damage` is in. Absent: the manifest has none there. O(shards).
std::optional<ChunkRecords> FindDamage(const Manifest& manifest, const ShardPaths& shards,
                                       const Damage& damage);

OpenWindow MakeWindowMessage(const Manifest& manifest, const ShardPaths& shards,
                             const PlanOptions& options, const WindowRequest& window);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_WINDOW_MESSAGE_H_
