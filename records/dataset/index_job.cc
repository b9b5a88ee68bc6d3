#include "records/dataset/index_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

void AddChunks(const Manifest& manifest, size_t shard, ManifestBuilder& builder) {
  const auto [begin, end] = manifest.shard_chunks(shard);
  uint64_t offset = 0;
  for (size_t i = begin; i < end; ++i) {
    const ChunkInfo chunk = manifest.chunk(i);
    builder.AddChunk({.size = chunk.size,
                      .records = chunk.records,
                      .holdout = chunk.holdout,
                      .crc32c = chunk.crc32c,
                      .raw_size = chunk.raw_size,
                      .gap = chunk.offset - offset,
                      .first_record = chunk.first_record});
    offset = chunk.offset + chunk.size;
  }
}

}  // namespace

absl::StatusOr<IndexJob> MakeIndexJob(const std::string& file, const IndexOptions& options) {
  IndexJob job;
  job.file = file;
  job.info.absolute = options.absolute;
  if (options.absolute) {
    job.info.path = NormalPath(file);
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(job.info.path, PathBeneath(FolderOfFile(options.output), file));
  }
  return job;
}

bool Unchanged(const ShardInfo& before, const ShardInfo& now) {
  return before.path == now.path && before.absolute == now.absolute && before.size == now.size &&
         before.modified_ns == now.modified_ns && before.label == now.label;
}

bool ChunksFit(const Manifest& manifest, size_t shard, uint64_t max_bytes) {
  const auto [begin, end] = manifest.shard_chunks(shard);
  for (size_t i = begin; i < end; ++i) {
    if (manifest.chunk(i).raw_size > max_bytes) return false;
  }
  return true;
}

bool StoredAlike(const Manifest& manifest, size_t shard,
                 const std::optional<StoredRecords>& stored) {
  const Container container = manifest.shards()[shard].container;
  if (!stored.has_value()) {
    return container != Container::kFixed && container != Container::kImageFile;
  }
  if (container != stored->container) return false;
  const auto [begin, end] = manifest.shard_chunks(shard);
  if (container != Container::kFixed || begin == end) return true;
  const ChunkInfo first = manifest.chunk(begin);
  return first.size / first.records == stored->record_bytes;
}

std::optional<FeatureSummary> FeaturesOf(const IndexJob& job) {
  return job.reused == nullptr ? job.scan.features : job.reused->ShardFeatures(job.reused_shard);
}

void AddShard(const IndexJob& job, const FeatureIndex& index, ManifestBuilder& builder) {
  ShardInfo info = job.reused == nullptr ? job.info : job.reused->shards()[job.reused_shard];
  const std::optional<FeatureSummary> features = FeaturesOf(job);
  if (features.has_value()) info.survey = SurveyOf(*features, index);
  if (job.reused != nullptr) {
    builder.AddShard(std::move(info));
    AddChunks(*job.reused, job.reused_shard, builder);
    return;
  }
  info.container = job.scan.container;
  info.excluded_records = job.scan.excluded_records;
  info.pixel_sums = job.scan.pixel_sums;
  builder.AddShard(std::move(info));
  for (const ManifestBuilder::Chunk& chunk : job.scan.chunks) builder.AddChunk(chunk);
}

absl::StatusOr<std::unique_ptr<FileSource>> OpenUnchanged(const IndexJob& job) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(job.file));
  if (source->identity() == FileIdentity{job.info.size, job.info.modified_ns}) return source;
  return absl::FailedPreconditionError(
      absl::StrCat(job.file,
                   ": changed after this run began: another process is writing it; run "
                   "again when it has finished"));
}

}  // namespace penstock
