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

struct ShardInfo {
  std::string path = {};  // '/' separates; relative to the manifest's folder unless absolute.
  bool absolute = false;  // `path` is absolute.
  uint64_t size = 0;      // Bytes in the file.
  int64_t modified_ns = 0;
  Container container = Container::kTfRecord;
  uint32_t label = 0;  // The class of a kImageFile.
  // Records that --exclude-corrupt left out. The numbers of the records behind them count them all;
  // where damage hides how many records there were, it counts as one.
  uint64_t excluded_records = 0;
  // Sums over the images of the training split, one for each of measured_features().
  std::vector<PixelSums> pixel_sums = {};
};

struct ChunkInfo {
  uint32_t shard = 0;         // Index into shards().
  uint64_t offset = 0;        // In the file.
  uint32_t size = 0;          // Bytes in the file.
  uint32_t raw_size = 0;      // As TFRecord frames; equal to size where the file holds those.
  uint32_t records = 0;       // At least 1.
  uint32_t holdout = 0;       // How many of the records are in the holdout split.
  uint32_t crc32c = 0;        // Checksum of the bytes in the file.
  uint64_t ordinal = 0;       // Number of its first record over the manifest.
  uint64_t first_record = 0;  // Number of its first record in its file.
};

// Where a record lies. Borrows from the manifest.
struct RecordPlace {
  const ShardInfo& shard;
  ChunkInfo chunk;
  uint64_t number;  // In the shard's file.
};

struct HoldoutInfo {
  std::string feature;     // It decides (HoldoutRule); empty: the whole payload does.
  uint32_t threshold = 0;  // The share times 2^32; 0: there is no holdout.

  // Names what decides: "'d'", "the whole record".
  std::string Decider() const;

  friend bool operator==(const HoldoutInfo&, const HoldoutInfo&) = default;
};

// Immutable. Holds its chunks as columns, 36 bytes each (44 with holdout and compression), so that
// 10^7 of them fit in memory; at most 32 bytes each in a file. Thread-compatible: const functions
// may run at the same time.
class Manifest {
 public:
  // The version of the format that is written and read: docs/reference/manifest_format.md.
  static constexpr uint32_t kVersion = 1;

  // kNotFound; kInvalidArgument: not a manifest; kDataLoss: cut or damaged; kFailedPrecondition:
  // written by a newer version.
  static absl::StatusOr<Manifest> Load(const std::string& path);
  // Parses the bytes of a file; base_dir() is empty. Errors as Load().
  static absl::StatusOr<Manifest> Parse(std::span<const uint8_t> bytes);

  // The largest message that protobuf writes and reads.
  static constexpr uint64_t kMaxPayloadBytes = (uint64_t{1} << 31) - 1;

  // kResourceExhausted: its payload would pass `max_bytes`.
  absl::StatusOr<std::string> Serialize(uint64_t max_bytes = kMaxPayloadBytes) const;
  // The file appears whole or not at all.
  absl::Status Save(const std::string& path) const;

  std::span<const ShardInfo> shards() const { return shards_; }
  const HoldoutInfo& holdout() const { return holdout_; }
  RecordFormat format() const { return format_; }
  // The features of the first records of each shard, or of all records.
  const FeatureSummary& features() const { return features_; }
  // The textproto of a decode spec, to be used where no other is named; empty: none is stored.
  const std::string& spec() const { return spec_; }
  // The names of the classes, by label, from classes.txt beside the shards. Empty: there was no
  // such file.
  std::span<const std::string> class_names() const { return class_names_; }
  // The features whose images were measured; StatisticsOf() gives the results. Empty: none were.
  std::span<const std::string> measured_features() const { return measured_features_; }
  uint32_t chunk_target() const { return chunk_target_; }

  // The folder that relative shard paths start from: the folder of the file that was loaded, or ""
  // if there was none.
  const std::string& base_dir() const { return base_dir_; }
  void set_base_dir(std::string base_dir) { base_dir_ = std::move(base_dir); }
  // Puts `folder`, "a/b/" or "", before the relative paths of shards. Readers whose root is above
  // the manifest's own folder need it.
  void MoveInto(absl::string_view folder);
  // The path by which this process opens a shard.
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

  // The chunk of the record with this number over the manifest, and its index there. Takes
  // O(log chunks).
  // REQUIRES: ordinal < num_records(Split::kAll).
  std::pair<size_t, uint32_t> Locate(uint64_t ordinal) const;
  // The same, for messages and lists.
  RecordPlace PlaceOf(uint64_t ordinal) const;

  // 64 bits of a SHA-256 over checksums, sizes and counts of all chunks, in order, and the holdout
  // definition. It is equal for the same records in the same order and split, wherever they lie and
  // whatever the files are called.
  uint64_t content_fingerprint() const { return fingerprint_; }

 private:
  friend class ManifestBuilder;
  Manifest() = default;
  void ComputeFingerprint();

  std::vector<ShardInfo> shards_;
  std::vector<size_t> shard_begin_;  // One entry more than shards.
  std::vector<uint64_t> shard_first_ordinal_;
  HoldoutInfo holdout_;
  RecordFormat format_ = RecordFormat::kExample;
  FeatureSummary features_;
  std::string spec_;
  std::vector<std::string> class_names_;
  std::vector<std::string> measured_features_;
  uint32_t chunk_target_ = 0;
  std::string base_dir_;

  // One entry a chunk.
  std::vector<uint32_t> shard_, size_, records_, crc32c_;
  std::vector<uint64_t> offset_;
  std::vector<uint64_t> ordinal_;       // One entry more than chunks.
  std::vector<uint32_t> holdout_rows_;  // Empty: no record is held out.
  std::vector<uint32_t> raw_size_;      // Empty: equal to size_.
  std::vector<uint64_t> first_record_;  // Empty: ordinal - the shard's first ordinal.

  uint64_t holdout_total_ = 0;
  uint64_t num_bytes_ = 0;
  uint64_t fingerprint_ = 0;
};

// Whether a file begins as manifests do, even if it is cut.
absl::StatusOr<bool> IsManifestFile(const ByteSource& source);

// Makes a Manifest, shard by shard, chunk by chunk. Not thread-safe.
class ManifestBuilder {
 public:
  static constexpr uint32_t kMostChunkTarget = uint32_t{1} << 30;

  struct Chunk {
    uint32_t size = 0;
    uint32_t records = 0;
    uint32_t holdout = 0;
    uint32_t crc32c = 0;
    uint32_t raw_size = 0;  // 0: equal to size.
    uint64_t gap = 0;       // Bytes that are left out before it.
    // Its first record's number in the file; unset: the count of those before.
    std::optional<uint64_t> first_record = std::nullopt;
  };

  // A shard of size 0 takes the sum of its chunks.
  void AddShard(ShardInfo shard);
  // Adds a chunk of the shard added last, in file order.
  void AddChunk(const Chunk& chunk);
  void SetHoldout(HoldoutInfo holdout) { manifest_.holdout_ = std::move(holdout); }
  void SetFormat(RecordFormat format) { manifest_.format_ = format; }
  void SetFeatures(FeatureSummary features);
  void SetSpec(std::string textproto) { manifest_.spec_ = std::move(textproto); }
  // Build() fails unless CheckClassNames() is OK.
  void SetClassNames(std::vector<std::string> names);
  // The features that each shard has pixel_sums of, in that order.
  void SetMeasuredFeatures(std::vector<std::string> names) {
    manifest_.measured_features_ = std::move(names);
  }
  // Build() fails if it is more than kMostChunkTarget.
  void SetChunkTarget(uint32_t bytes);

  // Consumes the builder. kInvalidArgument: numbers that contradict each other, naming the shard.
  absl::StatusOr<Manifest> Build();

 private:
  absl::Status CheckChunk(const Chunk& chunk) const;
  absl::Status CheckFirstRecord(const Chunk& chunk) const;
  absl::Status CheckMeasured() const;

  Manifest manifest_;
  uint64_t offset_ = 0;       // Where the last chunk ends in its file.
  uint64_t next_record_ = 0;  // The number in the file of the record behind that chunk.
  std::vector<bool> grows_;   // For each shard, whether its size follows from its chunks.
  absl::Status status_;       // The first contradiction.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_MANIFEST_H_
