// The shards that `penstock pack` writes: how many, what they are called, and what they replace.
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
  uint64_t records_per_shard = 0;     // 0: see NumShards()
  std::optional<uint64_t> seed = {};  // Of a shuffle of all records; absent: input order.
  bool skip_invalid = false;          // Instead of stopping at the first.
  bool force = false;
  int threads = 0;  // Shards written at a time; 0: one a core. The files do not depend on it.
};

// ceil(records / records_per_shard). For records_per_shard 0: shards of at most 2^20 records and
// about 256 MiB, and at least 4 of them where each would still have 64 records.
uint64_t NumShards(uint64_t records, uint64_t bytes, uint64_t records_per_shard);

// "NAME-00000-of-00004.tfrecord".
std::string ShardFile(const std::string& name, uint64_t shard, uint64_t num_shards);

// NAME of the shard "NAME-00000-of-00004", without its ending; another name as it is.
std::string SetName(const std::string& shard);

// The paths of the shards of this name that stand in the folder, which is made if need be. Unless
// `force`, kAlreadyExists if there are any.
absl::StatusOr<std::vector<std::string>> ExistingShards(const ShardOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_SHARD_SET_H_
