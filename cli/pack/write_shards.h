// Writes records to shards with several threads: all of them or none.
#ifndef PENSTOCK_CLI_PACK_WRITE_SHARDS_H_
#define PENSTOCK_CLI_PACK_WRITE_SHARDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/pack/record_source.h"
#include "cli/pack/shard_notes.h"
#include "cli/pack/shard_set.h"

namespace penstock {

// All callbacks may be empty.
struct PackCallbacks {
  // Called if an earlier run with other input or options was stopped; its finished shards are
  // removed.
  std::function<void()> on_discarded = {};
  // Called once with what an earlier run has finished, before anything is written.
  std::function<void(uint64_t shards, uint64_t records)> on_finished = {};
  // Called with each number of input records that are done, on any thread.
  std::function<void(uint64_t)> on_records = {};
  // Called when all shards are finished and before they get their names. A status other than OK
  // ends the run with that status.
  std::function<absl::Status()> before_naming = {};
};

struct WrittenShards {
  std::vector<std::string> paths;
  uint64_t records = 0;
  uint64_t bytes = 0;  // Size of the files.
  // Framed bytes of a gzip member or zstd frame; 0 if the shards are uncompressed.
  uint64_t chunk_bytes = 0;
  uint64_t num_skipped = 0;
  // The first skipped records of each shard, in the order of the shards.
  std::vector<SkippedRecord> skipped;
};

// Makes the folder, and makes all checks that WriteShards() makes before it writes.
absl::Status CheckOutput(const ShardOptions& options);

// Writes FOLDER/NAME-00000-of-00004.tfrecord and so on, all of them or none: they get their names
// after the last byte is on the disk. Existing shards of this name are refused (kAlreadyExists) or,
// with `force`, replaced; those beyond the new ones are removed. A skipped record makes its shard
// shorter; the other shards stay as they are.
//
// If the source has a key, a run that was stopped or killed leaves the shards that it finished. The
// next run with the same key and options writes the others. The files are then those of a run that
// was not stopped.
//
// An invalid record ends the run, and the message has its name, unless `skip_invalid` is set.
// kInvalidArgument: all records are invalid. kResourceExhausted: the disk is full. kUnavailable:
// another run writes the same shards. REQUIRES: source.size() > 0.
absl::StatusOr<WrittenShards> WriteShards(const RecordSource& source, const ShardOptions& options,
                                          const PackCallbacks& callbacks);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_WRITE_SHARDS_H_
