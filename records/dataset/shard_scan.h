// Reads one shard and cuts it into chunks.
#ifndef PENSTOCK_RECORDS_DATASET_SHARD_SCAN_H_
#define PENSTOCK_RECORDS_DATASET_SHARD_SCAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "records/container/frames.h"
#include "records/dataset/damage_list.h"
#include "records/dataset/image_check.h"
#include "records/dataset/large_buffers.h"
#include "records/dataset/manifest.h"

namespace penstock {

// Checks a record further. An error says why the record cannot be used; kResourceExhausted says
// that there was no memory to find out.
using PayloadCheck = std::function<absl::Status(std::span<const uint8_t> payload)>;

// Makes the check for the scan of one shard. Several threads may call it at once.
using PayloadCheckMaker = std::function<absl::StatusOr<PayloadCheck>()>;

struct ScanOptions {
  uint64_t chunk_target = uint64_t{256} << 10;
  HoldoutInfo holdout;
  RecordFormat format = RecordFormat::kExample;
  // How the shard holds its records. If unset, its first bytes say it.
  std::optional<StoredRecords> stored = {};
  // Every record must be of the format, and all are surveyed. Lengths and payload CRCs are checked
  // in any case.
  bool parse_records = false;
  // The features whose images must decode, if parse_records or measure_images is set.
  std::vector<ImageFeature> images;
  // Makes a check of every record. Empty: there is nothing more to check.
  PayloadCheckMaker make_check;
  // The images of the training split must decode, and are measured.
  bool measure_images = false;
  // Goes on after damage and lists it; without it the first damage is the scan's error.
  bool collect_damage = false;
  // No chunk has more bytes, after decompression too, because servers take no more at once. It is
  // below 4 GiB.
  uint64_t max_raw_chunk_bytes = uint64_t{64} << 20;
  // The scan of a compressed shard waits for a place here if it must hold much of the shard. Null:
  // it does not wait.
  LargeBuffers* large_buffers = nullptr;
  // Called with the bytes read since the last call. A status other than OK ends the scan with it.
  std::function<absl::Status(uint64_t bytes)> progress;
  // Called with the features of the first records, as soon as they are read. A status other than OK
  // ends the scan with it.
  std::function<absl::Status(const FeatureSummary&)> on_features;
};

struct ShardScan {
  static constexpr size_t kMaxListed = 1000;

  Container container = Container::kTfRecord;
  // The chunks without the damage: without a record whose payload is damaged; after broken framing,
  // without all bytes up to the next whole frame; of a compressed shard, without the whole chunk;
  // of a tar, without all that follows.
  std::vector<ManifestBuilder::Chunk> chunks;
  DamageList damage{kMaxListed};
  uint64_t excluded_records = 0;
  FeatureSummary features;          // The survey of the first records, or of all (RecordCheck).
  std::vector<std::string> unread;  // FeatureSurvey::unread() of the same records.
  // With measure_images, the sums over the training images in `chunks`, one for each of `images`.
  std::vector<PixelSums> pixel_sums;
  ImageCounts images;  // Of those in `chunks` that were decoded.
};

// Reads `source` once, from beginning to end. Chunks end at the first record (for a compressed
// shard: at the first member or frame that ends with a record) at which they have chunk_target
// bytes, or before one with which they would pass max_raw_chunk_bytes. A record that is longer by
// itself is treated as damage, but its error is kResourceExhausted. kDataLoss: damaged, or no
// TFRecord file; kInvalidArgument: the holdout feature is missing from a record, or the check of
// make_check() refuses it; kResourceExhausted: a compressed shard has no place to cut within
// max_raw_chunk_bytes, or cannot be decompressed with the memory allowed (Decompressor::Step()); no
// memory to decode an image. An error of make_check() is returned as it is.
absl::StatusOr<ShardScan> ScanShard(const ByteSource& source, const ScanOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_SHARD_SCAN_H_
