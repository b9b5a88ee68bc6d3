// Makes a manifest from shards.
#ifndef PENSTOCK_RECORDS_DATASET_INDEXER_H_
#define PENSTOCK_RECORDS_DATASET_INDEXER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/manifest.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

struct IndexOptions {
  // Where the manifest goes; shards are named relative to its folder. Not empty.
  std::string output;
  bool absolute = false;  // Absolute shard paths instead.
  // Which records are held out. With `update` and none given, the old manifest's.
  std::optional<HoldoutInfo> holdout;
  // Parses every record, and lists all damage instead of stopping at the first.
  bool verify = false;
  // Leaves damage out, and lists it.
  bool exclude_corrupt = false;
  // Takes shards whose size and time are those in the manifest at `output` from there.
  bool update = false;
  uint64_t chunk_bytes = 0;  // 0: ChunkTarget() of all shards, or the old manifest's.
  uint64_t max_raw_chunk_bytes = uint64_t{64} << 20;
  int threads = 0;  // 0: one for each core. Shards are read in parallel.
  // Called once, with the bytes that will be read, before any is.
  std::function<void(uint64_t bytes)> on_total;
  // Bytes read since the last call; on any thread, one call at a time. A status other than OK ends
  // the run with it.
  std::function<absl::Status(uint64_t bytes)> progress;
};

struct IndexResult {
  Manifest manifest;
  // False: damage was found without `exclude_corrupt`, so nothing was saved.
  bool saved = false;
  std::vector<DamagedRange> damage;  // In the order of the shards.
  uint64_t read_shards = 0;
  uint64_t reused_shards = 0;  // From the old manifest, or from an interrupted run.
  uint64_t read_bytes = 0;
};

// Indexes the files and folders at `paths` (see ListShards()), each shard read once, and saves the
// manifest. What an interrupted run with the same options has finished is not read again: it stands
// in a hidden file beside `output` until a run comes to its end.
// Without `verify` and `exclude_corrupt`: kDataLoss at the first damage, naming file, record and
// offset; further errors as ListShards(), PathBeneath() and ScanShard().
absl::StatusOr<IndexResult> BuildIndex(const std::vector<std::string>& paths,
                                       const IndexOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEXER_H_
