// What the scans of plain and of compressed shards share.
#ifndef PENSTOCK_RECORDS_DATASET_SCAN_STATE_H_
#define PENSTOCK_RECORDS_DATASET_SCAN_STATE_H_

#include <cstdint>
#include <vector>

#include "records/dataset/record_check.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

// Not thread-safe. Borrows its arguments.
class ScanState {
 public:
  ScanState(const ByteSource& source, const ScanOptions& options, RecordCheck& check)
      : source_(source), options_(options), check_(check), kept_sums_(check.pixel_sums()) {}

  // The open chunk; it begins where `begin` says and has `chunk.size` bytes.
  struct OpenChunk {
    uint64_t begin = 0;
    ManifestBuilder::Chunk chunk;
  };

  // Adds the open chunk unless it has no records, and opens the next one at `next_begin`.
  void Close(OpenChunk& open, uint64_t next_begin);

  // Lists the damage, or is the error that ends the scan.
  absl::Status Damaged(DamagedRange range, const absl::Status& why);

  // As RecordCheck::Check(). After kResourceExhausted, Damaged() ends the scan with it: the record
  // may be a good one.
  absl::Status CheckRecord(std::span<const uint8_t> payload, bool& held);

  // The images of the records checked since the last KeepMeasured() count; or they do not, for the
  // records are left out.
  void KeepMeasured() { kept_sums_ = check_.pixel_sums(); }
  void DropMeasured() { check_.set_pixel_sums(kept_sums_); }

  // Tells options.on_features once, when the first records are surveyed or `all` are; what it
  // returns but OK ends the scan.
  absl::Status TellFeatures(bool all);

  // Of the next record in the file.
  uint64_t number = 0;
  ShardScan scan;

 private:
  const ByteSource& source_;
  const ScanOptions& options_;
  RecordCheck& check_;
  uint64_t end_ = 0;  // Of the last chunk in the file.
  bool told_features_ = false;
  std::vector<PixelSums> kept_sums_;  // As of the last KeepMeasured().
  absl::Status unchecked_;            // Why a record could not be checked.
};

absl::Status ScanPlain(const ByteSource& source, const ScanOptions& options, ScanState& state);
absl::Status ScanCompressed(const ByteSource& source, const ScanOptions& options, ScanState& state);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_SCAN_STATE_H_
