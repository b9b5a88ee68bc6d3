// A shard on its way into a manifest.
#ifndef PENSTOCK_RECORDS_DATASET_INDEX_JOB_H_
#define PENSTOCK_RECORDS_DATASET_INDEX_JOB_H_

#include <cstdint>
#include <memory>
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
  // Where its chunks come from: another manifest's shard, or a scan.
  const Manifest* reused = nullptr;
  size_t reused_shard = 0;
  ShardScan scan;
};

// For the shard `file`, named as `options` ask; it is not opened. Errors as PathBeneath().
absl::StatusOr<IndexJob> MakeIndexJob(const std::string& file, const IndexOptions& options);

// Whether it is the same file, as far as name, size and time tell.
bool Unchanged(const ShardInfo& before, const ShardInfo& now);

// Whether servers read the chunks of `shard`; older manifests may have others.
bool ChunksFit(const Manifest& manifest, size_t shard, uint64_t max_bytes);

// Whether the records of a shard of `manifest` were cut as `stored` says; unset: as its bytes say.
bool StoredAlike(const Manifest& manifest, size_t shard,
                 const std::optional<StoredRecords>& stored);

// Adds the job's shard and its chunks.
void AddShard(const IndexJob& job, ManifestBuilder& builder);

// The job's shard. kFailedPrecondition: another process changed or replaced it since it was listed.
absl::StatusOr<std::unique_ptr<FileSource>> OpenUnchanged(const IndexJob& job);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEX_JOB_H_
