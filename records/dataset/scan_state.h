// The state that the scans of all kinds of shards share.
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
      : source_(source), options_(options), check_(check), kept_images_(check.checked_images()) {}

  // The open chunk; it begins where `begin` says and has `chunk.size` bytes.
  struct OpenChunk {
    uint64_t begin = 0;
    ManifestBuilder::Chunk chunk;
  };

  // Adds the open chunk unless it has no records, and opens the next one at `next_begin`.
  void Close(OpenChunk& open, uint64_t next_begin);

  // Leaves out the `bytes` bytes at `offset`, and moves it behind them; closes the open chunk. They
  // count as one record, whether they are one or not. Errors as Damaged().
  absl::Status Skip(OpenChunk& open, uint64_t& offset, uint64_t bytes, const absl::Status& why,
                    bool one_record);

  // Lists the damage, or returns the error that ends the scan.
  absl::Status Damaged(DamagedRange range, const absl::Status& why);

  // Calls RecordCheck::Check(). After kResourceExhausted, Damaged() ends the scan with that error,
  // for the record may be good.
  absl::Status CheckRecord(std::span<const uint8_t> payload, bool& held);

  // Counts the images of the records that were checked since the last KeepImages(), or drops them
  // because their records are left out.
  void KeepImages() { kept_images_ = check_.checked_images(); }
  void DropImages() { check_.set_checked_images(kept_images_); }

  // Calls options.on_features once, when the first records are surveyed or, with `all`, all are. A
  // status other than OK ends the scan.
  absl::Status TellFeatures(bool all);

  uint64_t number = 0;  // The number of the next record in the file.
  ShardScan scan;

 private:
  const ByteSource& source_;
  const ScanOptions& options_;
  RecordCheck& check_;
  uint64_t end_ = 0;  // Where the last chunk ends in the file.
  bool told_features_ = false;
  CheckedImages kept_images_;  // Set by the last KeepImages().
  absl::Status unchecked_;     // The error of a record that could not be checked.
};

absl::Status ScanPlain(const ByteSource& source, const ScanOptions& options, ScanState& state);
absl::Status ScanCompressed(const ByteSource& source, const ScanOptions& options, ScanState& state);
absl::Status ScanCut(const ByteSource& source, const StoredRecords& stored,
                     const ScanOptions& options, ScanState& state);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_SCAN_STATE_H_
