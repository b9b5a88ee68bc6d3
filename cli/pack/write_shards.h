// Records to shards: all of them or none, by several threads.
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

// All may be empty.
struct PackCallbacks {
  // Called if an earlier run was stopped whose input or options were others: what it had finished
  // is removed.
  std::function<void()> on_discarded = {};
  // Called once, with what an earlier run has finished, before anything is written.
  std::function<void(uint64_t shards, uint64_t records)> on_finished = {};
  // Gets each number of input records dealt with, on any thread.
  std::function<void(uint64_t)> on_records = {};
  // Called when all shards are finished and before they get their names. A status other than OK
  // ends the run with it.
  std::function<absl::Status()> before_naming = {};
};

struct WrittenShards {
  std::vector<std::string> paths;
  uint64_t records = 0;
  uint64_t bytes = 0;        // Of the files.
  uint64_t chunk_bytes = 0;  // Framed bytes of a gzip member or zstd frame; 0 uncompressed.
  uint64_t num_skipped = 0;
  std::vector<SkippedRecord> skipped;  // The first of each shard, in the order of the shards.
};

// Makes the folder, and checks what WriteShards() would refuse before it writes.
absl::Status CheckOutput(const ShardOptions& options);

// Writes FOLDER/NAME-00000-of-00004.tfrecord and so on, all of them or none: they get their names
// after the last byte is on the disk. Shards of this name that stand there are refused
// (kAlreadyExists) or, with `force`, replaced, and those beyond the new ones removed. A record that
// is skipped leaves its shard shorter; the other shards stay as they are.
//
// If the source has a key, a run that was stopped or killed leaves the shards that it finished, and
// the next one with the same key and options writes the others: the files are those of a run that
// was not stopped.
//
// Invalid records end the run, with the name, unless `skip_invalid`. kInvalidArgument: all are
// invalid. kResourceExhausted: the disk is full. kUnavailable: another run writes the same shards.
// REQUIRES: source.size() > 0.
absl::StatusOr<WrittenShards> WriteShards(const RecordSource& source, const ShardOptions& options,
                                          const PackCallbacks& callbacks);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_WRITE_SHARDS_H_
