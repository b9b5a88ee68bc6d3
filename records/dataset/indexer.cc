#include "records/dataset/indexer.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/io/root.h"
#include "base/mutex.h"
#include "base/process/machine_limits.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "records/dataset/chunk_size.h"
#include "records/dataset/index_journal.h"
#include "records/dataset/open_in_root.h"

namespace penstock {
namespace {

// A shard on its way into the manifest.
struct Job {
  std::string file;
  ShardInfo info;
  // Where its chunks come from: another manifest's shard, or a scan.
  const Manifest* reused = nullptr;
  size_t reused_shard = 0;
  ShardScan scan;
};

absl::StatusOr<Job> MakeJob(const std::string& file, const IndexOptions& options) {
  Job job;
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
         before.modified_ns == now.modified_ns;
}

// Whether servers read its chunks; older manifests may have others.
bool ChunksFit(const Manifest& manifest, size_t shard, uint64_t max_bytes) {
  const auto [begin, end] = manifest.shard_chunks(shard);
  for (size_t i = begin; i < end; ++i) {
    if (manifest.chunk(i).raw_size > max_bytes) return false;
  }
  return true;
}

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

void AddShard(const Job& job, ManifestBuilder& builder) {
  if (job.reused != nullptr) {
    builder.AddShard(job.reused->shards()[job.reused_shard]);
    AddChunks(*job.reused, job.reused_shard, builder);
    return;
  }
  ShardInfo info = job.info;
  info.compression = job.scan.compression;
  info.excluded_records = job.scan.excluded_records;
  builder.AddShard(std::move(info));
  for (const ManifestBuilder::Chunk& chunk : job.scan.chunks) builder.AddChunk(chunk);
}

// The job's shard, which another process may have changed or replaced since it was listed.
absl::StatusOr<std::unique_ptr<FileSource>> OpenUnchanged(const Job& job) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(job.file));
  if (source->identity() == FileIdentity{job.info.size, job.info.modified_ns}) return source;
  return absl::FailedPreconditionError(
      absl::StrCat(job.file, ": is being written: it changed since this run began"));
}

void MergeFeatures(std::span<const FeatureInfo> from, std::vector<FeatureInfo>& into) {
  for (const FeatureInfo& feature : from) {
    auto known = std::find_if(into.begin(), into.end(), [&](const FeatureInfo& info) {
      return info.name == feature.name && info.type == feature.type;
    });
    if (known == into.end()) {
      into.push_back(feature);
    } else {
      known->min_length = std::min(known->min_length, feature.min_length);
      known->max_length = std::max(known->max_length, feature.max_length);
    }
  }
}

absl::Status CheckOutputName(const std::string& output) {
  if (!IsShardName(output)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(output,
                   ": is named as shards are, so the next run over its folder would take "
                   "the manifest for one; give it a name without .tfrecord"));
}

// Whatever else lies there, a shard perhaps, is not to be replaced.
absl::Status CheckOutput(const std::string& output) {
  std::error_code ignored;  // Then it cannot be written either.
  if (!std::filesystem::exists(output, ignored)) return CheckOutputName(output);
  if (std::filesystem::is_directory(output, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(output,
                                                   ": is a folder; give the manifest's own name, ",
                                                   NormalPath(output), "/manifest.pb"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(output));
  PENSTOCK_ASSIGN_OR_RETURN(const bool manifest, IsManifestFile(*source));
  if (manifest || source->size() == 0) return CheckOutputName(output);
  return absl::InvalidArgumentError(absl::StrCat(
      output, ": is there and is no manifest: it is not replaced; give the manifest another name"));
}

// Of shards that were compressed as a whole, over all threads.
constexpr uint64_t kLargeBufferBytes = uint64_t{512} << 20;

// One run of BuildIndex().
class IndexRun {
 public:
  explicit IndexRun(const IndexOptions& options)
      : options_(options),
        large_buffers_(std::max<uint64_t>(
            kLargeBufferBytes / std::max<uint64_t>(options.max_raw_chunk_bytes, 1), 1)) {}

  absl::StatusOr<IndexResult> Run(const std::vector<std::string>& paths) {
    PENSTOCK_RETURN_IF_ERROR(CheckOutput(options_.output));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> files, ListShards(paths, options_.listing));
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t total, MakeJobs(files));
    PENSTOCK_RETURN_IF_ERROR(SetUp(total));
    ReuseShards();
    PENSTOCK_RETURN_IF_ERROR(ScanAll());
    return Finish();
  }

 private:
  // Returns the bytes of all shards.
  absl::StatusOr<uint64_t> MakeJobs(std::span<const std::string> files) {
    uint64_t total = 0;
    std::optional<Root> root;
    for (const std::string& file : files) {
      PENSTOCK_RETURN_IF_ERROR(options_.listing.Check());
      PENSTOCK_ASSIGN_OR_RETURN(Job job, MakeJob(file, options_));
      // What stays in memory is for no server.
      if (!options_.in_memory && !root.has_value()) {
        PENSTOCK_ASSIGN_OR_RETURN(
            root, Root::Open(options_.absolute ? "/" : FolderOfFile(options_.output)));
      }
      PENSTOCK_ASSIGN_OR_RETURN(
          const std::unique_ptr<FileSource> source,
          root.has_value() ? OpenInRoot(*root, job.info.path.substr(options_.absolute), job.file)
                           : FileSource::Open(job.file));
      job.info.size = source->identity().size;
      job.info.modified_ns = source->identity().modified_ns;
      total += job.info.size;
      jobs_.push_back(std::move(job));
    }
    return total;
  }

  // The scan's options, the old manifest and the journal.
  absl::Status SetUp(uint64_t total) {
    if (!options_.in_memory) PENSTOCK_RETURN_IF_ERROR(OpenJournal());
    PENSTOCK_RETURN_IF_ERROR(TakeOldManifest());
    scan_.chunk_target =
        std::min<uint64_t>(ChooseChunkTarget(total), ManifestBuilder::kMostChunkTarget);
    scan_.parse_records = options_.verify;
    scan_.collect_damage = options_.verify || options_.exclude_corrupt;
    scan_.max_raw_chunk_bytes = options_.max_raw_chunk_bytes;
    scan_.large_buffers = &large_buffers_;
    scan_.progress = [this](uint64_t bytes) { return Progress(bytes); };
    // Asked-for chunks are cut anew; of the data's growth only what is read takes notice.
    const bool same = old_.has_value() && old_->holdout() == scan_.holdout &&
                      (options_.chunk_bytes == 0 || old_->chunk_target() == scan_.chunk_target);
    if (!same) old_.reset();
    return BeginJournal();
  }

  // Not the old manifest's if the data has outgrown it: a dataset that began small would have tiny
  // chunks for ever.
  uint64_t ChooseChunkTarget(uint64_t total) const {
    if (options_.chunk_bytes > 0) return options_.chunk_bytes;
    return std::max<uint64_t>(old_ ? old_->chunk_target() : 0, ChunkTarget(total));
  }

  absl::Status OpenJournal() {
    PENSTOCK_ASSIGN_OR_RETURN(IndexJournal journal,
                              IndexJournal::Open(options_.output, options_.on_wait));
    std::error_code ignored;
    if (options_.keep && std::filesystem::exists(options_.output, ignored)) {
      journal.Remove();
      return absl::AlreadyExistsError(absl::StrCat(options_.output, ": is there"));
    }
    MutexLock lock(&mutex_);
    journal_.emplace(std::move(journal));
    return absl::OkStatus();
  }

  absl::Status BeginJournal() {
    MutexLock lock(&mutex_);
    if (!journal_.has_value()) return absl::OkStatus();
    std::vector<std::string> keys = {JournalKey(options_.verify)};
    // A shard that was whole to the stricter reading is to the other.
    if (!options_.verify) keys.push_back(JournalKey(/*verify=*/true));
    return journal_->Begin(keys);
  }

  std::string JournalKey(bool verify) const {
    return absl::StrCat(IndexJournal::kKeyStart, Manifest::kVersion, " chunk ", scan_.chunk_target,
                        " verify ", verify, " holdout ", scan_.holdout.threshold, " ",
                        scan_.holdout.feature);
  }

  // Its holdout, and with `update` the rest of it.
  absl::Status TakeOldManifest() {
    if (options_.holdout.has_value()) scan_.holdout = *options_.holdout;
    std::error_code error;
    const bool there = std::filesystem::file_size(options_.output, error) > 0 && !error;
    if (!there || (options_.holdout.has_value() && !options_.update)) return absl::OkStatus();
    absl::StatusOr<Manifest> old = Manifest::Load(options_.output);
    if (!old.ok()) {
      return absl::Status(
          old.status().code(),
          absl::StrCat(old.status().message(),
                       ". It may hold records out, which shall not be lost: give --holdout again, "
                       "0 for none",
                       options_.update ? ", and leave out --update" : ""));
    }
    if (!options_.holdout.has_value()) {
      scan_.holdout = old->holdout();
      kept_holdout_ = old->holdout().threshold > 0;
    }
    if (options_.update) old_ = *std::move(old);
    return absl::OkStatus();
  }

  void ReuseShards() {
    MutexLock lock(&mutex_);
    std::map<std::string, size_t> old_shards;
    // Whether the old manifest's run parsed the records, and what has rotted since, it cannot say.
    const bool keep = old_.has_value() && !options_.verify;
    for (size_t i = 0; keep && i < old_->shards().size(); ++i) {
      old_shards[old_->shards()[i].path] = i;
    }
    static const std::map<std::string, Manifest> kNone;
    const std::map<std::string, Manifest>& done = journal_ ? journal_->finished() : kNone;
    // Damage that the old manifest leaves out shall be listed again, or may have been mended since.
    for (Job& job : jobs_) {
      const auto finished = done.find(job.info.path);
      const auto old = old_shards.find(job.info.path);
      if (finished != done.end() && Unchanged(finished->second.shards()[0], job.info)) {
        job.reused = &finished->second;
        job.reused_shard = 0;
      } else if (old != old_shards.end() && Unchanged(old_->shards()[old->second], job.info) &&
                 old_->shards()[old->second].excluded_records == 0 &&
                 ChunksFit(*old_, old->second, scan_.max_raw_chunk_bytes)) {
        job.reused = &*old_;
        job.reused_shard = old->second;
      }
    }
  }

  absl::Status ScanAll() {
    uint64_t to_read = 0;
    for (const Job& job : jobs_) to_read += job.reused == nullptr ? job.info.size : 0;
    if (options_.on_total) options_.on_total(to_read);
    const size_t wanted =
        options_.threads > 0 ? static_cast<size_t>(options_.threads) : ReadMachineLimits().cores;
    {
      // This thread is one of them, and does without those that cannot be started.
      std::vector<std::jthread> others;
      while (others.size() + 1 < std::min(wanted, jobs_.size())) {
        absl::StatusOr<std::jthread> other = StartThread("that indexes", [this] { ScanSome(); });
        if (!other.ok()) break;
        others.push_back(*std::move(other));
      }
      ScanSome();
    }
    MutexLock lock(&mutex_);
    return status_;
  }

  // Takes jobs until there are none or one failed.
  void ScanSome() {
    while (true) {
      const size_t i = next_.fetch_add(1);
      if (i >= jobs_.size() || failed_.load()) return;
      if (jobs_[i].reused != nullptr) continue;
      absl::Status status = Scan(jobs_[i]);
      if (status.ok()) continue;
      MutexLock lock(&mutex_);
      // The first in the order of the shards, so that runs report alike.
      if (status_.ok() || i < failed_job_) {
        status_ = status;
        failed_job_ = i;
      }
      failed_.store(true);
    }
  }

  absl::Status Scan(Job& job) {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenUnchanged(job));
    absl::StatusOr<ShardScan> scan = ScanShard(*source, scan_);
    // Damage may be nothing but a writer's work.
    if (scan.ok() || absl::IsDataLoss(scan.status())) {
      PENSTOCK_RETURN_IF_ERROR(OpenUnchanged(job).status());
    }
    if (absl::IsDataLoss(scan.status())) {
      return absl::DataLossError(absl::StrCat(
          scan.status().message(),
          "; penstock index --verify lists all damage, --exclude-corrupt leaves it out"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(job.scan, std::move(scan));
    if (!job.scan.damage.empty()) {
      BoundListed(job);
      return absl::OkStatus();  // Not in the journal, and shall be listed again.
    }
    if (options_.in_memory) return absl::OkStatus();
    ManifestBuilder builder;
    AddShard(job, builder);
    builder.SetHoldout(scan_.holdout);
    builder.SetFeatures(job.scan.features);
    PENSTOCK_ASSIGN_OR_RETURN(Manifest shard, builder.Build());
    MutexLock lock(&mutex_);
    return journal_->Append(shard);
  }

  // Drops from the lists of the shards scanned so far what cannot be among the first of all.
  void BoundListed(Job& job) {
    MutexLock lock(&mutex_);
    listing_.insert(&job);
    num_listed_ += job.scan.damage.listed().size();
    while (true) {
      Job& last = **listing_.rbegin();
      const size_t without = num_listed_ - last.scan.damage.listed().size();
      if (without < IndexResult::kMaxListed) return;
      last.scan.damage.Forget();
      listing_.erase(&last);
      num_listed_ = without;
    }
  }

  absl::Status Progress(uint64_t bytes) {
    MutexLock lock(&mutex_);
    read_bytes_ += bytes;
    return options_.progress ? options_.progress(bytes) : absl::OkStatus();
  }

  absl::StatusOr<IndexResult> Finish() {
    ManifestBuilder builder;
    std::vector<FeatureInfo> features;
    DamageList damage(IndexResult::kMaxListed);
    uint64_t reused = 0;
    for (Job& job : jobs_) {
      AddShard(job, builder);
      MergeFeatures(job.reused ? job.reused->features() : job.scan.features, features);
      damage.Append(std::move(job.scan.damage));
      reused += job.reused != nullptr;
    }
    builder.SetHoldout(scan_.holdout);
    builder.SetFeatures(std::move(features));
    builder.SetChunkTarget(static_cast<uint32_t>(scan_.chunk_target));
    PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, builder.Build());
    manifest.set_base_dir(FolderOfFile(options_.output));
    const bool excludes = options_.exclude_corrupt && manifest.num_records(Split::kAll) > 0;
    const bool save = !options_.in_memory && (damage.empty() || excludes);
    if (save) PENSTOCK_RETURN_IF_ERROR(manifest.Save(options_.output));
    MutexLock lock(&mutex_);
    // Not saved: the run that leaves the damage out, or reads what was mended, goes on from there.
    if (journal_ && save) journal_->Remove();
    return IndexResult{std::move(manifest),   save,   kept_holdout_, std::move(damage),
                       jobs_.size() - reused, reused, read_bytes_};
  }

  const IndexOptions& options_;
  LargeBuffers large_buffers_;
  std::vector<Job> jobs_;  // Each is one thread's while it scans.
  ScanOptions scan_;
  std::optional<Manifest> old_;
  bool kept_holdout_ = false;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  Mutex mutex_;
  std::optional<IndexJournal> journal_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  size_t failed_job_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t read_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<Job*> listing_ ABSL_GUARDED_BY(mutex_);  // Of jobs_, in their order; scanned, damaged.
  size_t num_listed_ ABSL_GUARDED_BY(mutex_) = 0;   // Their places.
};

}  // namespace

absl::StatusOr<IndexResult> BuildIndex(const std::vector<std::string>& paths,
                                       const IndexOptions& options) {
  if (options.output.empty()) return absl::InvalidArgumentError("no output for the manifest");
  return IndexRun(options).Run(paths);
}

}  // namespace penstock
