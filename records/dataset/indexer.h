// Makes a manifest from shards.
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
  // Where the manifest goes; shards are named relative to its folder. Not empty, and not named as a
  // shard; a file that is there already is a manifest or empty.
  std::string output;
  bool absolute = false;  // Absolute shard paths instead.
  // Which records are held out. None given: those that the manifest at `output` holds out; a new
  // one would train on them.
  std::optional<HoldoutInfo> holdout;
  // The feature of `holdout` is DefaultHoldoutFeature() of the first records.
  bool default_holdout_feature = false;
  // What the records are. None given: what the manifest at `output` says; a new one: Examples.
  std::optional<RecordFormat> format;
  // How each shard holds its records, with record_bytes where it is kFixed. Unset: what its bytes
  // say. kImageFile: `paths` is one folder of images as ListImageFolder() lists them, of which the
  // manifest has the class names, and there are at most kMostImageFiles.
  std::optional<StoredRecords> stored = {};
  // The textproto that the manifest stores. None given: that of the manifest at `output`.
  std::optional<std::string> spec;
  // Gives what to store instead of `spec`, by the features of the first records.
  std::function<std::string(const FeatureSummary&)> fit_spec;
  // Called with the features of the first records, and what they are, before any shard is indexed.
  // A status other than OK ends the run with it.
  std::function<absl::Status(const FeatureSummary&, RecordFormat)> check_features;
  // Gives the features whose images must decode with `verify` and are measured with `statistics`,
  // by the features of the first records and the spec that the manifest will store. Without it:
  // none.
  std::function<std::vector<ImageFeature>(const FeatureSummary&, const std::string& spec)>
      find_images;
  // Gives what makes the checks of the records that are read, by the spec that the manifest will
  // store. It is called once, and only if there is such a spec. Without it no record is checked.
  std::function<PayloadCheckMaker(const std::string& spec)> find_check;
  // Takes shards of different features (FeatureDifference()), which are refused otherwise.
  bool mixed_features = false;
  // Parses every record, decodes its images, and lists all damage instead of stopping at the first.
  bool verify = false;
  // Decodes the images of the training split, and lists all damage instead of stopping at the
  // first. The manifest has what StatisticsOf() needs.
  bool statistics = false;
  // Leaves damage out, and lists it.
  bool exclude_corrupt = false;
  // Takes shards whose size and time are those in the manifest at `output` from there, with their
  // chunks as they are unless `chunk_bytes` asks for others, and unless a run that saved no
  // manifest found them damaged; with `verify` only its holdout and its chunks' size. The same
  // where that manifest has no statistics and `statistics` are asked for, or has them of other
  // features than `find_images` gives. If it has statistics, the new one has them too.
  bool update = false;
  // kAlreadyExists where there is a manifest at `output`, also where another run made it meanwhile.
  bool keep = false;
  // Nothing is written: no manifest, and nothing to go on from. `output` names the shards all the
  // same.
  bool in_memory = false;
  // Of shards that are read. 0: ChunkTarget() of all shards, and with `update` no less than the old
  // manifest's.
  uint64_t chunk_bytes = 0;
  uint64_t max_raw_chunk_bytes = uint64_t{64} << 20;  // As in ScanOptions.
  int threads = 0;  // 0: one for each core. Shards are read in parallel.
  // Called once, with the bytes that will be read, before any is.
  std::function<void(uint64_t bytes)> on_total;
  // Bytes read since the last call; on any thread, one call at a time. A status other than OK ends
  // the run with it.
  std::function<absl::Status(uint64_t bytes)> progress;
  ListOptions listing;  // Before any shard is read.
  // Called every 100 ms while another run indexes for `output`, which is waited for. A status other
  // than OK ends the run with it. Without it: kUnavailable at once.
  std::function<absl::Status()> on_wait;
};

// A manifest lists each image file as a shard. More of them are slow to list, open and stat.
inline constexpr size_t kMostImageFiles = 100'000;

struct IndexResult {
  static constexpr size_t kMaxListed = 10'000;

  Manifest manifest;
  // False: damage was found without `exclude_corrupt`, or leaves no record, so nothing was saved;
  // or it is `in_memory`.
  bool saved = false;
  bool kept_holdout = false;  // The old manifest's, as no other was given.
  // In the order of the shards; at most ShardScan::kMaxListed of each are listed.
  DamageList damage{kMaxListed};
  // What the records that were read hold and nothing reads: FeatureSurvey::unread().
  std::vector<std::string> unread;
  uint64_t read_shards = 0;
  uint64_t reused_shards = 0;  // From the old manifest, or from a run that saved none.
  uint64_t read_bytes = 0;
  ImageCounts images;  // Of those that were decoded, for `verify` or `statistics`.
};

// Indexes the files and folders at `paths` (see ListShards()), each shard read once, and saves the
// manifest. What an interrupted run, or one that saved nothing, has finished with the same options
// is not read again: it stands in a hidden file beside `output` until a manifest is saved. Without
// `verify` what a run with it has finished counts too. Damaged shards are always read again.
// The manifest has the names of the classes that stand in classes.txt beside the shards.
// kInvalidArgument, before anything is read: what lies at `output` is no manifest, or its name is a
// shard's; ClassNamesBeside(); before anything is indexed: the first record is not of the format,
// or no feature has images for `statistics`; as soon as it is seen: two shards of different
// features. kPermissionDenied: a shard lies behind a link that no server follows whose root is the
// manifest's folder (with `absolute`: "/"), unless `in_memory`. Without `verify`, `statistics` and
// `exclude_corrupt`: kDataLoss at the first damage, naming file, record and offset; further errors
// as ListShards(), PathBeneath() and ScanShard().
absl::StatusOr<IndexResult> BuildIndex(const std::vector<std::string>& paths,
                                       const IndexOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_INDEXER_H_
