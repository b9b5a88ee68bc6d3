// Lists the shards of a dataset and the chunks that they are read in.
#ifndef PENSTOCK_RECORDS_DATASET_MANIFEST_H_
#define PENSTOCK_RECORDS_DATASET_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_source.h"
#include "records/container/container.h"
#include "records/dataset/feature_info.h"
#include "records/dataset/split.h"
#include "records/image/pixel_sums.h"

namespace penstock {

// Counts of one feature over the records of a shard.
struct SurveyedFeature {
  uint32_t index = 0;  // Index into the manifest's features, which have the name and the type.
  uint64_t records = 0;
  ValueRange values = {};
  ValueRange bytes = {};
  ValueRange step_values = {};
  uint64_t images = 0;
  uint64_t grey16 = 0;
};

// The features of all records of a shard.
struct ShardSurvey {
  uint64_t records = 0;
  std::vector<SurveyedFeature> features = {};
};

// Returns the survey for a manifest whose features `index` finds. A feature that has no values of
// any kind is left out if others of its name have some.
ShardSurvey SurveyOf(const FeatureSummary& shard, const FeatureIndex& index);

struct ShardInfo {
  std::string path = {};    // '/' separates. Relative to the manifest's folder unless `absolute`.
  bool absolute = false;    // `path` is absolute.
  uint64_t size = 0;        // Bytes in the file.
  int64_t modified_ns = 0;  // Nanoseconds since 1970.
  Container container = Container::kTfRecord;
  uint32_t label = 0;  // The class of a kImageFile.
  // Number of records that --exclude-corrupt left out. The numbers of later records count them. If
  // damage hides how many records there were, it counts as one record.
  uint64_t excluded_records = 0;
  // Sums over the images of the training split, one for each of measured_features().
  std::vector<PixelSums> pixel_sums = {};
  // Unset if an older version, which looked at the first records only, indexed the shard.
  std::optional<ShardSurvey> survey = {};
};

struct ChunkInfo {
  uint32_t shard = 0;         // Index into shards().
  uint64_t offset = 0;        // Offset in the file.
  uint32_t size = 0;          // Bytes in the file.
  uint32_t raw_size = 0;      // Bytes as TFRecord frames. Equal to size for plain TFRecord.
  uint32_t records = 0;       // At least 1.
  uint32_t holdout = 0;       // Number of the records that are in the holdout split.
  uint32_t crc32c = 0;        // Checksum of the bytes in the file.
  uint64_t ordinal = 0;       // Number of its first record in the manifest.
  uint64_t first_record = 0;  // Number of its first record in its file.
};

// The place of a record. Borrows from the manifest.
struct RecordPlace {
  const ShardInfo& shard;
  ChunkInfo chunk;
  uint64_t number;  // Number of the record in the shard's file.
};

struct HoldoutInfo {
  std::string feature;     // The feature that decides (HoldoutRule); empty for the whole payload.
  uint32_t threshold = 0;  // The held-out share times 2^32; 0 if there is no holdout.

  // Names what decides, for messages: "'d'" or "the whole record".
  std::string Decider() const;

  friend bool operator==(const HoldoutInfo&, const HoldoutInfo&) = default;
};

// Immutable. Stores chunks as columns, 36 bytes for each chunk (44 with holdout and compression),
// so that 10^7 of them fit into memory. In a file, a chunk takes at most 32 bytes.
// Thread-compatible: const methods may run concurrently.
class Manifest {
 public:
  // The version of the format that is written and read (docs/reference/manifest_format.md).
  static constexpr uint32_t kVersion = 1;

  // Reads the manifest at `path`.
  // kNotFound: there is no file.
  // kInvalidArgument: the file is not a manifest.
  // kDataLoss: it is truncated or damaged.
  // kFailedPrecondition: it was written by a newer version.
  static absl::StatusOr<Manifest> Load(const std::string& path);
  // Reads the manifest that `source` holds. Reads only the header of what is no manifest.
  // base_dir() is empty. Errors are those of Load().
  static absl::StatusOr<Manifest> Read(const ByteSource& source);
  // Parses the bytes of a file; base_dir() is empty. Errors are those of Load().
  static absl::StatusOr<Manifest> Parse(std::span<const uint8_t> bytes);

  // The largest message that protobuf writes and reads.
  static constexpr uint64_t kMaxPayloadBytes = (uint64_t{1} << 31) - 1;

  // Returns the bytes of a file, or kResourceExhausted if the payload would exceed `max_bytes`.
  absl::StatusOr<std::string> Serialize(uint64_t max_bytes = kMaxPayloadBytes) const;
  // Writes a file that appears complete or not at all. Errors are those of Serialize() and
  // AtomicFile.
  absl::Status Save(const std::string& path) const;

  std::span<const ShardInfo> shards() const { return shards_; }
  const HoldoutInfo& holdout() const { return holdout_; }
  RecordFormat format() const { return format_; }
  // The features of all records if surveyed(). Otherwise those of the first records of each shard.
  const FeatureSummary& features() const { return features_; }
  // Whether each shard has a survey of all its records.
  bool surveyed() const;
  // The features of a shard's records; unset if the shard has no survey.
  std::optional<FeatureSummary> ShardFeatures(size_t shard) const;
  // The textproto of the decode spec to use if no other is named; empty if none is stored.
  const std::string& spec() const { return spec_; }
  // The names of the classes, by label, from classes.txt beside the shards. Empty if there was no
  // such file.
  std::span<const std::string> class_names() const { return class_names_; }
  // The features whose images were measured (StatisticsOf()); empty if none were.
  std::span<const std::string> measured_features() const { return measured_features_; }
  // The target size of chunks in bytes.
  uint32_t chunk_target() const { return chunk_target_; }

  // The folder that relative shard paths start from: the folder of the file that was loaded, or ""
  // if there was no file.
  const std::string& base_dir() const { return base_dir_; }
  void set_base_dir(std::string base_dir) { base_dir_ = std::move(base_dir); }
  // Puts `folder`, "a/b/" or "", before the relative paths of shards. Use it if the reader's root
  // is above the manifest's own folder.
  void MoveInto(absl::string_view folder);
  // The path with which this process opens a shard.
  std::string ShardPath(size_t shard) const;

  size_t num_chunks() const { return size_.size(); }
  // Takes O(1). REQUIRES: i < num_chunks(), here and below.
  ChunkInfo chunk(size_t i) const;
  // The number of the chunk's records that are in `split`.
  uint32_t chunk_rows(size_t i, Split split) const;
  uint32_t chunk_bytes(size_t i) const { return size_[i]; }
  uint32_t chunk_shard(size_t i) const { return shard_[i]; }
  // The chunks of a shard: [first, second).
  std::pair<size_t, size_t> shard_chunks(size_t shard) const {
    return {shard_begin_[shard], shard_begin_[shard + 1]};
  }

  uint64_t num_records(Split split) const;
  // The bytes of all chunks in their files.
  uint64_t num_bytes() const { return num_bytes_; }

  // Returns the chunk with the record of this number in the manifest, and the record's index in the
  // chunk. Takes O(log chunks).
  // REQUIRES: ordinal < num_records(Split::kAll).
  std::pair<size_t, uint32_t> Locate(uint64_t ordinal) const;
  // Like Locate(), but returns the place in the form for messages and lists.
  RecordPlace PlaceOf(uint64_t ordinal) const;

  // 64 bits of a SHA-256 over the checksums, sizes and counts of all chunks, in order, and the
  // holdout rule. It is equal for the same records in the same order and split, whatever the names
  // and places of the files.
  uint64_t content_fingerprint() const { return fingerprint_; }

 private:
  friend class ManifestBuilder;
  Manifest() = default;
  void ComputeFingerprint();

  std::vector<ShardInfo> shards_;
  std::vector<size_t> shard_begin_;  // One entry more than there are shards.
  std::vector<uint64_t> shard_first_ordinal_;
  HoldoutInfo holdout_;
  RecordFormat format_ = RecordFormat::kExample;
  FeatureSummary features_;
  std::string spec_;
  std::vector<std::string> class_names_;
  std::vector<std::string> measured_features_;
  uint32_t chunk_target_ = 0;
  std::string base_dir_;

  // One entry for each chunk.
  std::vector<uint32_t> shard_, size_, records_, crc32c_;
  std::vector<uint64_t> offset_;
  std::vector<uint64_t> ordinal_;       // One entry more than there are chunks.
  std::vector<uint32_t> holdout_rows_;  // Empty if no record is held out.
  std::vector<uint32_t> raw_size_;      // Empty if equal to size_.
  std::vector<uint64_t> first_record_;  // Empty if it is ordinal minus the shard's first ordinal.

  uint64_t holdout_total_ = 0;
  uint64_t num_bytes_ = 0;
  uint64_t fingerprint_ = 0;
};

// Returns whether a file begins like a manifest, even if it is truncated.
absl::StatusOr<bool> IsManifestFile(const ByteSource& source);

// Builds a Manifest shard by shard and chunk by chunk. Not thread-safe.
class ManifestBuilder {
 public:
  static constexpr uint32_t kMostChunkTarget = uint32_t{1} << 30;

  struct Chunk {
    uint32_t size = 0;
    uint32_t records = 0;
    uint32_t holdout = 0;
    uint32_t crc32c = 0;
    uint32_t raw_size = 0;  // 0 if equal to `size`.
    uint64_t gap = 0;       // Bytes that are left out before the chunk.
    // Number of its first record in the file. If unset, the number of records before it.
    std::optional<uint64_t> first_record = std::nullopt;
  };

  // If a shard has size 0, its size becomes the sum of its chunks.
  void AddShard(ShardInfo shard);
  // Adds the next chunk, in file order, of the shard that was added last.
  void AddChunk(const Chunk& chunk);
  void SetHoldout(HoldoutInfo holdout) { manifest_.holdout_ = std::move(holdout); }
  void SetFormat(RecordFormat format) { manifest_.format_ = format; }
  void SetFeatures(FeatureSummary features);
  void SetSpec(std::string textproto) { manifest_.spec_ = std::move(textproto); }
  // Build() fails unless CheckClassNames() is OK.
  void SetClassNames(std::vector<std::string> names);
  // The features of each shard's pixel_sums, in that order.
  void SetMeasuredFeatures(std::vector<std::string> names) {
    manifest_.measured_features_ = std::move(names);
  }
  // Build() fails if `bytes` exceeds kMostChunkTarget.
  void SetChunkTarget(uint32_t bytes);

  // Consumes the builder. kInvalidArgument: numbers contradict each other. The message names the
  // shard.
  absl::StatusOr<Manifest> Build();

 private:
  absl::Status CheckChunk(const Chunk& chunk) const;
  absl::Status CheckFirstRecord(const Chunk& chunk) const;
  absl::Status CheckMeasured() const;
  absl::Status CheckSurveys() const;

  Manifest manifest_;
  uint64_t offset_ = 0;       // End of the last chunk in its file.
  uint64_t next_record_ = 0;  // Number in the file of the record after the last chunk.
  std::vector<bool> grows_;   // True for each shard whose size is the sum of its chunks.
  absl::Status status_;       // The first contradiction.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_MANIFEST_H_
