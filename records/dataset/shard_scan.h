// Reads a shard and cuts it into chunks.
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

// A further check of a record. An error says why the record cannot be used; kResourceExhausted
// means that there was no memory to find out.
using PayloadCheck = std::function<absl::Status(std::span<const uint8_t> payload)>;

// Makes the check for the scan of one shard. Must be thread-safe.
using PayloadCheckMaker = std::function<absl::StatusOr<PayloadCheck>()>;

struct ScanOptions {
  // Chunks end once they have this many bytes.
  uint64_t chunk_target = uint64_t{256} << 10;
  HoldoutInfo holdout;
  RecordFormat format = RecordFormat::kExample;
  // How the shard stores its records. If unset, its first bytes say.
  std::optional<StoredRecords> stored = {};
  // If true, every record must be of the format. Lengths and payload CRCs are always checked.
  bool parse_records = false;
  // The features whose images must decode, if parse_records or measure_images is set.
  std::vector<ImageFeature> images;
  // Makes a check for every record. If empty, there is no further check.
  PayloadCheckMaker make_check;
  // If true, the images of the training split must decode, and are measured.
  bool measure_images = false;
  // Continues after damage and lists it. Otherwise the scan ends with the first damage as its
  // error.
  bool collect_damage = false;
  // Limit for the bytes of a chunk, also after decompression, because servers accept no more. Must
  // be below 4 GiB.
  uint64_t max_raw_chunk_bytes = uint64_t{64} << 20;
  // The scan of a compressed shard waits for a place here if it must hold much of the shard in
  // memory. If null, it does not wait.
  LargeBuffers* large_buffers = nullptr;
  // Called with the bytes read since the last call. An error ends the scan.
  std::function<absl::Status(uint64_t bytes)> progress;
  // Called with the features of the first records, as soon as they are read. An error ends the
  // scan.
  std::function<absl::Status(const FeatureSummary&)> on_features;
};

struct ShardScan {
  static constexpr size_t kMaxListed = 1000;

  Container container = Container::kTfRecord;
  // The chunks, without damaged parts. What is left out depends on the damage:
  //   - a record whose payload is damaged: the record
  //   - broken framing: all bytes up to the next intact frame
  //   - damage in a compressed shard: the whole chunk
  //   - damage in a tar: everything after it
  std::vector<ManifestBuilder::Chunk> chunks;
  DamageList damage{kMaxListed};
  uint64_t excluded_records = 0;
  // Survey of all records that are of the format. If damage leaves out a chunk of a compressed
  // shard, its intact records count too.
  FeatureSummary features;
  std::vector<std::string> unread;  // FeatureSurvey::unread() of the same records.
  // Sums over the training images in `chunks`, one for each of options.images. Set with
  // measure_images.
  std::vector<PixelSums> pixel_sums;
  ImageCounts images;  // Number of decoded images of records in `chunks`.
};

// Reads `source` once, from beginning to end. A chunk ends with the first record at which it has
// chunk_target bytes, or before a record with which it would exceed max_raw_chunk_bytes. In a
// compressed shard, it can only end with a member or zstd frame that ends with a record. A record
// that alone exceeds the limit is treated as damage, but its error is kResourceExhausted.
// kDataLoss: the file is damaged, or is no TFRecord file.
// kInvalidArgument: a record lacks the holdout feature, or the check of make_check() refuses it.
// kResourceExhausted: a compressed shard has no place to cut within max_raw_chunk_bytes, or cannot
// be decompressed within the allowed memory (Decompressor::Step()); or there is no memory to decode
// an image.
// Errors of make_check() are returned unchanged.
absl::StatusOr<ShardScan> ScanShard(const ByteSource& source, const ScanOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_SHARD_SCAN_H_
