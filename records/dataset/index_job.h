// One shard of an index run.
#ifndef PENSTOCK_RECORDS_DATASET_INDEX_JOB_H_
#define PENSTOCK_RECORDS_DATASET_INDEX_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/io/file_source.h"
#include "records/dataset/indexer.h"
#include "records/dataset/manifest.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

struct IndexJob {
  std::string file;
  ShardInfo info;
  // The chunks come from shard `reused_shard` of this manifest. If null, they come from `scan`.
  const Manifest* reused = nullptr;
  size_t reused_shard = 0;
  ShardScan scan;
};

// Returns the job for the shard `file`, named as `options` require. Does not open the file. Errors
// are those of PathBeneath().
absl::StatusOr<IndexJob> MakeIndexJob(const std::string& file, const IndexOptions& options);

// Whether both are the same unchanged file, judged by path, size and time.
bool Unchanged(const ShardInfo& before, const ShardInfo& now);

// Whether servers can read the chunks of `shard`. Older manifests may have chunks that are too
// large.
bool ChunksFit(const Manifest& manifest, size_t shard, uint64_t max_bytes);

// Whether the records of a shard of `manifest` were cut as `stored` says, or, if `stored` is unset,
// as the shard's bytes say.
bool StoredAlike(const Manifest& manifest, size_t shard,
                 const std::optional<StoredRecords>& stored);

// Returns the features of all records of the shard; unset if the reused manifest does not have
// them.
std::optional<FeatureSummary> FeaturesOf(const IndexJob& job);

// Adds the shard of the job, with its chunks and its survey, to `builder`. `index` finds the
// features of the manifest that is built.
void AddShard(const IndexJob& job, const FeatureIndex& index, ManifestBuilder& builder);

// Opens the shard of the job. kFailedPrecondition: another process changed or replaced it after it
// was listed.
absl::StatusOr<std::unique_ptr<FileSource>> OpenUnchanged(const IndexJob& job);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEX_JOB_H_
