// Builds manifests from shards.
#ifndef PENSTOCK_RECORDS_DATASET_INDEXER_H_
#define PENSTOCK_RECORDS_DATASET_INDEXER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/list_shards.h"
#include "records/dataset/manifest.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

struct IndexOptions {
  // Path of the manifest. Shards are named relative to its folder. Must not be empty or named like
  // a shard. An existing file there must be a manifest or empty.
  std::string output;
  bool absolute = false;  // Use absolute shard paths.
  // The rule that holds records out. If unset, the rule of the manifest at `output` stays, because
  // a new rule would train on records that it holds out.
  std::optional<HoldoutInfo> holdout;
  // Replaces the feature of `holdout` by DefaultHoldoutFeature() of the first records.
  bool default_holdout_feature = false;
  // The form of the records. If unset, it is that of the manifest at `output`, or Examples if there
  // is none.
  std::optional<RecordFormat> format;
  // How each shard stores its records, with record_bytes for kFixed. If unset, the bytes of each
  // shard say. With kImageFile, `paths` must be one folder of images for ListImageFolder(), with at
  // most kMostImageFiles images; the manifest then has its class names.
  std::optional<StoredRecords> stored = {};
  // The textproto that the manifest stores. If unset, that of the manifest at `output` stays.
  std::optional<std::string> spec;
  // Returns the textproto to store instead of `spec`, given the features of the first records.
  std::function<std::string(const FeatureSummary&)> fit_spec;
  // Called with the features and the format of the first records before any shard is indexed. An
  // error ends the run.
  std::function<absl::Status(const FeatureSummary&, RecordFormat)> check_features;
  // Returns the features whose images must decode with `verify`, and are measured with
  // `statistics`, given the features of the first records and the spec that the manifest will
  // store. If this is empty, there are no such features.
  std::function<std::vector<ImageFeature>(const FeatureSummary&, const std::string& spec)>
      find_images;
  // Returns the maker of the checks for the records that are read, given the spec that the manifest
  // will store. Called once, and only if there is such a spec. If this is empty, records are not
  // checked.
  std::function<PayloadCheckMaker(const std::string& spec)> find_check;
  // Accepts shards with different features (FeatureDifference()), which are otherwise refused.
  bool mixed_features = false;
  // Parses every record, decodes its images, and lists all damage instead of stopping at the first.
  bool verify = false;
  // Decodes the images of the training split, so that the manifest has what StatisticsOf() needs.
  // Lists all damage instead of stopping at the first.
  bool statistics = false;
  // Leaves damage out of the manifest, and lists it.
  bool exclude_corrupt = false;
  // Reuses shards of the manifest at `output`, with their chunks, if their size and time are
  // unchanged. A shard is read again if
  //   - `chunk_bytes` asks for another chunk size
  //   - a run that saved no manifest found the shard damaged, or the manifest leaves out some of it
  //   - `verify` is set
  //   - `statistics` is set and the manifest has none, or has them for other features than
  //     `find_images` returns
  // Even then, the holdout rule is kept, and so is the chunk size unless `chunk_bytes` is set. If
  // the manifest has statistics, the new one has them too.
  // If the order changes, the manifest that is replaced is kept, because cursors need it.
  bool update = false;
  // kAlreadyExists if there is a manifest at `output`, even if another run created it meanwhile.
  bool keep = false;
  // Writes nothing: neither a manifest nor a journal to resume from. Shards are still named
  // relative to `output`.
  bool in_memory = false;
  // Chunk size of shards that are read. If 0, it is ChunkTarget() of all shards, and with `update`
  // at least that of the old manifest.
  uint64_t chunk_bytes = 0;
  uint64_t max_raw_chunk_bytes = uint64_t{64} << 20;  // As in ScanOptions.
  int threads = 0;  // Number of threads that read shards in parallel; 0 means one for each core.
  // Called once, before anything is read, with the number of bytes to read.
  std::function<void(uint64_t bytes)> on_total;
  // Called with the bytes read since the last call, on any thread, but one call at a time. An error
  // ends the run.
  std::function<absl::Status(uint64_t bytes)> progress;
  ListOptions listing;  // Callbacks for the time before any shard is read.
  // Called every 100 ms while another run indexes for the same `output`. An error ends the run. If
  // this is empty, kUnavailable is returned at once instead of waiting.
  std::function<absl::Status()> on_wait;
};

// A manifest lists each image file as a shard. More files are slow to list, open and stat.
inline constexpr size_t kMostImageFiles = 100'000;

struct IndexResult {
  static constexpr size_t kMaxListed = 10'000;

  Manifest manifest;
  // False if nothing was saved, because there is damage and `exclude_corrupt` is not set, because
  // the damage leaves no record, or because of `in_memory`.
  bool saved = false;
  // With `update`: where the manifest that this run replaced is kept (KeepManifest()); empty if its
  // records, order and split are those of the new one.
  std::string kept_manifest = {};
  bool kept_holdout = false;  // The holdout rule is the old manifest's, because no other was given.
  // Damage in the order of the shards. At most ShardScan::kMaxListed ranges are listed for each
  // shard.
  DamageList damage{kMaxListed};
  // FeatureSurvey::unread() of the records that were read.
  std::vector<std::string> unread;
  uint64_t read_shards = 0;
  uint64_t reused_shards = 0;  // Shards taken from the old manifest or from a run that saved none.
  uint64_t read_bytes = 0;
  ImageCounts images;  // Images decoded for `verify` or `statistics`.
};

// Indexes the files and folders at `paths` (see ListShards()) and saves the manifest. Each shard is
// read once. The class names of the manifest are those of classes.txt beside the shards.
//
// Shards that an interrupted run, or a run that saved nothing, has finished with the same options
// are not read again. Until a manifest is saved, they are recorded in a hidden file beside
// `output`. Without `verify`, shards that a run with `verify` has finished count too. Damaged
// shards are always read again.
//
// kInvalidArgument, before anything is read: the file at `output` is no manifest, `output` is named
// like a shard, or ClassNamesBeside() fails.
// kInvalidArgument, before anything is indexed: the first record is not of the format, or no
// feature has images for `statistics`.
// kInvalidArgument, as soon as it is found: two shards have different features.
// kPermissionDenied, unless `in_memory`: a shard lies behind a link that no server follows whose
// root is the manifest's folder, or "/" with `absolute`.
// kDataLoss, without `verify`, `statistics` and `exclude_corrupt`: the first damage. The message
// has the file, record and offset.
// Other errors are those of ListShards(), PathBeneath() and ScanShard().
absl::StatusOr<IndexResult> BuildIndex(const std::vector<std::string>& paths,
                                       const IndexOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEXER_H_
