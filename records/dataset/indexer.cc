#include "records/dataset/indexer.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/file_source.h"
#include "base/io/root.h"
#include "base/mutex.h"
#include "base/process/machine_limits.h"
#include "base/process/start_thread.h"
#include "base/sha256.h"
#include "base/status.h"
#include "records/dataset/chunk_size.h"
#include "records/dataset/dataset_files.h"
#include "records/dataset/feature_agreement.h"
#include "records/dataset/first_records.h"
#include "records/dataset/holdout_rule.h"
#include "records/dataset/index_job.h"
#include "records/dataset/index_journal.h"
#include "records/dataset/kept_manifests.h"
#include "records/dataset/open_in_root.h"

namespace penstock {
namespace {

// Appends the strings of `from` that are not in `into` yet.
void AddMissing(std::span<const std::string> from, std::vector<std::string>& into) {
  for (const std::string& text : from) {
    if (std::find(into.begin(), into.end(), text) == into.end()) into.push_back(text);
  }
}

absl::Status CheckOutputName(const std::string& output) {
  if (!IsShardName(output)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(output,
                   ": has the name of a shard, so the next run over its folder would read "
                   "the manifest as a shard; give it another name, such as manifest.pb"));
}

// Any other existing file, such as a shard, must not be replaced.
absl::Status CheckOutput(const std::string& output) {
  std::error_code ignored;  // If this fails, writing fails too.
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
      output,
      ": exists and is not a manifest, so it is not replaced; give the manifest another name"));
}

// Memory for shards that were compressed as a whole, over all threads.
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
    PENSTOCK_ASSIGN_OR_RETURN(DatasetFiles files, ListDatasetFiles(paths, options_));
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t total, MakeJobs(files));
    PENSTOCK_RETURN_IF_ERROR(SetUp(files.paths, total));
    class_names_ = std::move(files.class_names);
    PENSTOCK_RETURN_IF_ERROR(ReuseShards());
    PENSTOCK_RETURN_IF_ERROR(ScanAll());
    return Finish();
  }

 private:
  // Returns the total size of the shards in bytes.
  absl::StatusOr<uint64_t> MakeJobs(const DatasetFiles& files) {
    uint64_t total = 0;
    std::optional<Root> root;
    for (const std::string& file : files.paths) {
      PENSTOCK_RETURN_IF_ERROR(options_.listing.Check());
      PENSTOCK_ASSIGN_OR_RETURN(IndexJob job, MakeIndexJob(file, options_));
      // A manifest that stays in memory is not for servers.
      if (!options_.in_memory && !root.has_value()) {
        PENSTOCK_ASSIGN_OR_RETURN(
            root, Root::Open(options_.absolute ? "/" : FolderOfFile(options_.output)));
      }
      PENSTOCK_ASSIGN_OR_RETURN(
          const std::unique_ptr<FileSource> source,
          root.has_value() ? OpenInRoot(*root, job.info.path.substr(options_.absolute), job.file)
                           : FileSource::Open(job.file));
      if (!files.labels.empty()) job.info.label = files.labels[jobs_.size()];
      job.info.size = source->identity().size;
      job.info.modified_ns = source->identity().modified_ns;
      total += job.info.size;
      jobs_.push_back(std::move(job));
    }
    return total;
  }

  // Sets the scan options, and loads the old manifest and the journal.
  absl::Status SetUp(std::span<const std::string> files, uint64_t total) {
    if (!options_.in_memory) PENSTOCK_RETURN_IF_ERROR(OpenJournal());
    PENSTOCK_RETURN_IF_ERROR(TakeOldManifest());
    PENSTOCK_RETURN_IF_ERROR(LookAtFirstRecords(files));
    scan_.chunk_target =
        std::min<uint64_t>(ChooseChunkTarget(total), ManifestBuilder::kMostChunkTarget);
    scan_.parse_records = options_.verify;
    scan_.collect_damage = CollectsDamage();
    if (ChecksSpec()) scan_.make_check = options_.find_check(spec_);
    scan_.max_raw_chunk_bytes = options_.max_raw_chunk_bytes;
    scan_.large_buffers = &large_buffers_;
    scan_.progress = [this](uint64_t bytes) { return Progress(bytes); };
    // A chunk size that the caller sets applies to all shards. A chunk size that grew with the data
    // applies only to shards that are read.
    const bool same = old_.has_value() && old_->holdout() == scan_.holdout &&
                      old_->format() == scan_.format &&
                      std::ranges::equal(old_->measured_features(), MeasuredFeatures()) &&
                      (options_.chunk_bytes == 0 || old_->chunk_target() == scan_.chunk_target);
    if (!same) old_.reset();
    return BeginJournal();
  }

  // The target grows with the data. Otherwise a dataset that began small would always have tiny
  // chunks.
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
    // A shard that is intact when everything is verified is also intact when less is.
    if (!options_.verify) keys.push_back(JournalKey(/*verify=*/true));
    return journal_->Begin(keys);
  }

  std::string JournalKey(bool verify) const {
    return absl::StrCat(IndexJournal::kKeyStart, Manifest::kVersion, " chunk ", scan_.chunk_target,
                        " surveyed verify ", verify, scan_.measure_images ? " statistics" : "",
                        verify || scan_.measure_images ? DecodedImages() : "",
                        scan_.format == RecordFormat::kRaw ? " raw" : "", ContainerKey(), SpecKey(),
                        " holdout ", scan_.holdout.threshold, " ", scan_.holdout.feature);
  }

  std::string ContainerKey() const {
    if (!options_.stored.has_value()) return "";
    return absl::StrCat(" container ", ContainerName(options_.stored->container), " ",
                        options_.stored->record_bytes);
  }

  bool ChecksSpec() const { return options_.find_check && !spec_.empty(); }

  // A run with another spec did not check the records against this one.
  std::string SpecKey() const {
    if (!ChecksSpec()) return "";
    return absl::StrCat(" spec ", Sha256::Hex(Sha256::Of(BytesOf(spec_))));
  }

  // The names and limits of the images that are decoded, which may differ between runs.
  std::string DecodedImages() const {
    std::string text;
    for (const ImageFeature& image : scan_.images) {
      const ImageLimits& limits = image.decode.limits;
      absl::StrAppend(&text, " image ", image.name, " ", image.decode.fill_truncated, " ",
                      image.decode.scale_grey16 ? "scaled " : "", limits.max_pixels, " ",
                      limits.max_side, " ", limits.max_scans, " ", limits.max_chunk);
    }
    return text;
  }

  // Takes from the old manifest what no option sets, and with `update` also its shards.
  absl::Status TakeOldManifest() {
    if (options_.holdout.has_value()) scan_.holdout = *options_.holdout;
    if (options_.format.has_value()) scan_.format = *options_.format;
    if (options_.spec.has_value()) spec_ = *options_.spec;
    std::error_code error;
    const bool there = std::filesystem::file_size(options_.output, error) > 0 && !error;
    if (!there) return absl::OkStatus();
    absl::StatusOr<Manifest> old = Manifest::Load(options_.output);
    if (!old.ok()) {
      if (options_.holdout.has_value() && !options_.update) return absl::OkStatus();
      return absl::Status(
          old.status().code(),
          absl::StrCat(old.status().message(),
                       ". It may define a holdout split: give --holdout again to keep it (0 for "
                       "none)",
                       options_.update ? ", and leave out --update" : ""));
    }
    if (!options_.holdout.has_value()) {
      scan_.holdout = old->holdout();
      kept_holdout_ = old->holdout().threshold > 0;
    }
    if (!options_.format.has_value()) scan_.format = old->format();
    if (!options_.spec.has_value()) spec_ = old->spec();
    if (!options_.update) return absl::OkStatus();
    replaced_ = old->content_fingerprint();
    old_ = *std::move(old);
    return absl::OkStatus();
  }

  absl::Status LookAtFirstRecords(std::span<const std::string> files) {
    PENSTOCK_ASSIGN_OR_RETURN(
        const FeatureSummary features,
        SurveyFirstRecords(files, options_.stored, scan_.format, CollectsDamage()));
    if (options_.holdout.has_value() && options_.default_holdout_feature) {
      scan_.holdout.feature = DefaultHoldoutFeature(features);
    }
    PENSTOCK_RETURN_IF_ERROR(CheckRawHoldout());
    if (scan_.holdout.threshold > 0 && !scan_.holdout.feature.empty()) {
      PENSTOCK_RETURN_IF_ERROR(CheckHoldoutFeature(scan_.holdout.feature, features));
    }
    if (options_.fit_spec) spec_ = options_.fit_spec(features);
    if (options_.find_images && scan_.format == RecordFormat::kExample) {
      scan_.images = options_.find_images(features, spec_);
    }
    PENSTOCK_RETURN_IF_ERROR(ChooseMeasured());
    if (!options_.check_features) return absl::OkStatus();
    return options_.check_features(features, scan_.format);
  }

  bool CollectsDamage() const { return options_.verify || options_.exclude_corrupt || Measures(); }

  // An update measures too if the old manifest has statistics, so that they stay complete.
  bool Measures() const {
    return options_.statistics || (old_.has_value() && !old_->measured_features().empty());
  }

  absl::Status ChooseMeasured() {
    if (options_.statistics && scan_.images.empty()) {
      return absl::InvalidArgumentError(
          "--statistics: there are no images to measure: no stored spec decodes images, and no "
          "feature of the first records holds JPEG or PNG files");
    }
    scan_.measure_images = Measures() && !scan_.images.empty();
    return absl::OkStatus();
  }

  std::vector<std::string> MeasuredFeatures() const {
    std::vector<std::string> names;
    if (!scan_.measure_images) return names;
    for (const ImageFeature& image : scan_.images) names.push_back(image.name);
    return names;
  }

  // The only feature of a raw record is its payload. Code that computes the split has no name for
  // it.
  absl::Status CheckRawHoldout() {
    std::string& feature = scan_.holdout.feature;
    if (scan_.format != RecordFormat::kRaw || feature.empty()) return absl::OkStatus();
    if (feature != kRawFeature) {
      return absl::InvalidArgumentError(
          absl::StrCat("raw records have no feature '", feature, "', only '", kRawFeature, "'"));
    }
    feature.clear();
    return absl::OkStatus();
  }

  // The shards of the old manifest by path, except those that were found damaged since.
  std::map<std::string, size_t> OldShards() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::map<std::string, size_t> shards;
    // With `verify`, no shard is kept: the old manifest does not say whether its records were
    // parsed, or what has become damaged since.
    const bool keep = old_.has_value() && !options_.verify;
    for (size_t i = 0; keep && i < old_->shards().size(); ++i) {
      const std::string& path = old_->shards()[i].path;
      if (!journal_ || !journal_->damaged().contains(path)) shards[path] = i;
    }
    return shards;
  }

  absl::Status ReuseShards() {
    MutexLock lock(&mutex_);
    const std::map<std::string, size_t> old_shards = OldShards();
    static const std::map<std::string, Manifest> kNone;
    const std::map<std::string, Manifest>& done = journal_ ? journal_->finished() : kNone;
    // A shard with excluded damage is not reused: the damage must be listed again, or may have been
    // repaired.
    for (IndexJob& job : jobs_) {
      const auto finished = done.find(job.info.path);
      const auto old = old_shards.find(job.info.path);
      if (finished != done.end() && Unchanged(finished->second.shards()[0], job.info)) {
        job.reused = &finished->second;
        job.reused_shard = 0;
      } else if (old != old_shards.end() && Unchanged(old_->shards()[old->second], job.info) &&
                 old_->shards()[old->second].excluded_records == 0 &&
                 StoredAlike(*old_, old->second, options_.stored) &&
                 ChunksFit(*old_, old->second, scan_.max_raw_chunk_bytes)) {
        job.reused = &*old_;
        job.reused_shard = old->second;
      }
      if (job.reused == nullptr || options_.mixed_features) continue;
      PENSTOCK_RETURN_IF_ERROR(agreement_.Add(job.file, job.reused->features()));
    }
    return absl::OkStatus();
  }

  absl::Status ScanAll() {
    uint64_t to_read = 0;
    for (const IndexJob& job : jobs_) to_read += job.reused == nullptr ? job.info.size : 0;
    if (options_.on_total) options_.on_total(to_read);
    const size_t wanted =
        options_.threads > 0 ? static_cast<size_t>(options_.threads) : ReadMachineLimits().cores;
    {
      // This thread scans too. If others cannot be started, there are fewer.
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

  // Scans jobs until there are none left or one has failed.
  void ScanSome() {
    while (true) {
      const size_t i = next_.fetch_add(1);
      if (i >= jobs_.size() || failed_.load()) return;
      if (jobs_[i].reused != nullptr) continue;
      absl::Status status = Scan(jobs_[i]);
      if (status.ok()) continue;
      MutexLock lock(&mutex_);
      // Keeps the error of the first shard in order, so that all runs report the same error.
      if (status_.ok() || i < failed_job_) {
        status_ = status;
        failed_job_ = i;
      }
      failed_.store(true);
    }
  }

  absl::Status Scan(IndexJob& job) {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, OpenUnchanged(job));
    ScanOptions options = scan_;
    options.stored = StoredOf(job);
    if (!options_.mixed_features) {
      options.on_features = [&](const FeatureSummary& features) {
        MutexLock lock(&mutex_);
        return agreement_.Add(job.file, features);
      };
    }
    absl::StatusOr<ShardScan> scan = ScanShard(*source, options);
    // Apparent damage may mean that another process is still writing the file.
    if (scan.ok() || absl::IsDataLoss(scan.status())) {
      PENSTOCK_RETURN_IF_ERROR(OpenUnchanged(job).status());
    }
    if (absl::IsDataLoss(scan.status())) {
      PENSTOCK_RETURN_IF_ERROR(NoteDamaged(job));
      return absl::DataLossError(absl::StrCat(
          scan.status().message(),
          "; penstock index --verify lists all damage, --exclude-corrupt leaves it out"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(job.scan, std::move(scan));
    if (!job.scan.damage.empty()) {
      BoundListed(job);
      return NoteDamaged(job);  // The shard is not finished, so the next run lists it again.
    }
    if (options_.in_memory) return absl::OkStatus();
    ManifestBuilder builder;
    AddShard(job, FeatureIndex(job.scan.features), builder);
    builder.SetHoldout(scan_.holdout);
    builder.SetFormat(scan_.format);
    builder.SetFeatures(job.scan.features);
    builder.SetMeasuredFeatures(MeasuredFeatures());
    PENSTOCK_ASSIGN_OR_RETURN(Manifest shard, builder.Build());
    MutexLock lock(&mutex_);
    return journal_->Append(shard);
  }

  // Returns how the shard of the job stores its records, or nullopt if its bytes say so.
  std::optional<StoredRecords> StoredOf(const IndexJob& job) const {
    std::optional<StoredRecords> stored = options_.stored;
    if (!stored.has_value()) return stored;
    stored->path = job.info.path;
    stored->label = job.info.label;
    return stored;
  }

  // Records the damage, so that no later run takes the shard's chunks from an older manifest.
  absl::Status NoteDamaged(const IndexJob& job) {
    MutexLock lock(&mutex_);
    return journal_ ? journal_->AppendDamaged(job.info.path) : absl::OkStatus();
  }

  // Drops listed ranges that cannot be among the first kMaxListed of all shards scanned so far.
  void BoundListed(IndexJob& job) {
    MutexLock lock(&mutex_);
    listing_.insert(&job);
    num_listed_ += job.scan.damage.listed().size();
    while (true) {
      IndexJob& last = **listing_.rbegin();
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

  // Merges the surveys of all shards. If the old manifest lacks some, its features are taken as a
  // whole: they cover all its shards.
  FeatureSummary MergedFeatures() const {
    const bool surveyed = std::all_of(jobs_.begin(), jobs_.end(), [](const IndexJob& job) {
      return job.reused == nullptr || job.reused->shards()[job.reused_shard].survey.has_value();
    });
    FeatureSummary all;
    bool merged_old = false;
    for (const IndexJob& job : jobs_) {
      const bool of_old = job.reused != nullptr && job.reused == (old_ ? &*old_ : nullptr);
      if (surveyed || !of_old) {
        Merge(FeaturesOf(job).value_or(FeatureSummary()), all);
      } else if (!std::exchange(merged_old, true)) {
        Merge(old_->features(), all);
      }
    }
    return surveyed ? Canonical(std::move(all)) : all;
  }

  absl::StatusOr<IndexResult> Finish() {
    ManifestBuilder builder;
    FeatureSummary features = MergedFeatures();
    const FeatureIndex index(features);
    std::vector<std::string> unread;
    DamageList damage(IndexResult::kMaxListed);
    uint64_t reused = 0;
    ImageCounts images;
    for (IndexJob& job : jobs_) {
      AddShard(job, index, builder);
      AddMissing(job.scan.unread, unread);
      damage.Append(std::move(job.scan.damage));
      reused += job.reused != nullptr;
      images += job.scan.images;
    }
    builder.SetHoldout(scan_.holdout);
    builder.SetFormat(scan_.format);
    builder.SetFeatures(features);
    builder.SetSpec(spec_);
    builder.SetClassNames(std::move(class_names_));
    builder.SetMeasuredFeatures(MeasuredFeatures());
    builder.SetChunkTarget(static_cast<uint32_t>(scan_.chunk_target));
    PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, builder.Build());
    manifest.set_base_dir(FolderOfFile(options_.output));
    const bool excludes = options_.exclude_corrupt && manifest.num_records(Split::kAll) > 0;
    const bool save = !options_.in_memory && (damage.empty() || excludes);
    std::string kept;
    if (save && replaced_.has_value() && *replaced_ != manifest.content_fingerprint()) {
      PENSTOCK_ASSIGN_OR_RETURN(kept, KeepManifest(options_.output, *replaced_));
    }
    if (save) PENSTOCK_RETURN_IF_ERROR(manifest.Save(options_.output));
    MutexLock lock(&mutex_);
    // If nothing was saved, the journal stays for a run that leaves the damage out or reads
    // repaired shards.
    if (journal_ && save) journal_->Remove();
    return IndexResult{std::move(manifest),   save,
                       std::move(kept),       kept_holdout_,
                       std::move(damage),     std::move(unread),
                       jobs_.size() - reused, reused,
                       read_bytes_,           images};
  }

  const IndexOptions& options_;
  LargeBuffers large_buffers_;
  std::vector<IndexJob> jobs_;  // While a job is scanned, one thread owns it.
  ScanOptions scan_;
  std::string spec_;
  std::vector<std::string> class_names_;
  std::optional<Manifest> old_;
  bool kept_holdout_ = false;
  std::optional<uint64_t> replaced_;  // With `update`: the old manifest's content fingerprint.
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  Mutex mutex_;
  std::optional<IndexJournal> journal_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  size_t failed_job_ ABSL_GUARDED_BY(mutex_) = 0;
  FeatureAgreement agreement_ ABSL_GUARDED_BY(mutex_);
  uint64_t read_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The damaged jobs among the scanned ones, in the order of jobs_.
  std::set<IndexJob*> listing_ ABSL_GUARDED_BY(mutex_);
  size_t num_listed_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of ranges that they list.
};

}  // namespace

absl::StatusOr<IndexResult> BuildIndex(const std::vector<std::string>& paths,
                                       const IndexOptions& options) {
  if (options.output.empty()) return absl::InvalidArgumentError("no output for the manifest");
  return IndexRun(options).Run(paths);
}

}  // namespace penstock
