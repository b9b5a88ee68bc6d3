// The shards that `penstock pack` writes: their number, their names, and the files that they
// replace.
#ifndef PENSTOCK_CLI_PACK_SHARD_SET_H_
#define PENSTOCK_CLI_PACK_SHARD_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/format/compression.h"

namespace penstock {

struct ShardOptions {
  std::string folder;
  std::string name;
  Compression compression = Compression::kNone;
  uint64_t records_per_shard = 0;     // If it is 0, see NumShards().
  std::optional<uint64_t> seed = {};  // Seed of a shuffle of all records; absent means input order.
  bool skip_invalid = false;          // If it is false, the first invalid record ends the run.
  bool force = false;
  // Number of shards written at a time; 0 means one per core. The files do not depend on it.
  int threads = 0;
};

// Returns ceil(records / records_per_shard). If records_per_shard is 0, shards have at most 2^20
// records and about 256 MiB, and there are at least 4 of them if each would still have 64 records.
uint64_t NumShards(uint64_t records, uint64_t bytes, uint64_t records_per_shard);

// Returns "NAME-00000-of-00004.tfrecord".
std::string ShardFile(const std::string& name, uint64_t shard, uint64_t num_shards);

// Returns NAME for the shard "NAME-00000-of-00004", given without its extension. Returns any other
// name unchanged.
std::string SetName(const std::string& shard);

// Returns the paths of the shards of this name in the folder, which is created if needed.
// kAlreadyExists: there are any, and `force` is false.
absl::StatusOr<std::vector<std::string>> ExistingShards(const ShardOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_SHARD_SET_H_
