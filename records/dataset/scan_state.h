// The state that the scans of all containers share.
#ifndef PENSTOCK_RECORDS_DATASET_SCAN_STATE_H_
#define PENSTOCK_RECORDS_DATASET_SCAN_STATE_H_

#include <cstdint>
#include <vector>

#include "records/dataset/record_check.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

// Borrows its arguments. Not thread-safe.
class ScanState {
 public:
  ScanState(const ByteSource& source, const ScanOptions& options, RecordCheck& check)
      : source_(source), options_(options), check_(check), kept_images_(check.checked_images()) {}

  // The open chunk. It begins at offset `begin` of the file and has `chunk.size` bytes.
  struct OpenChunk {
    uint64_t begin = 0;
    ManifestBuilder::Chunk chunk;
  };

  // Adds the open chunk unless it has no records, and opens the next one at `next_begin`.
  void Close(OpenChunk& open, uint64_t next_begin);

  // Closes the open chunk, leaves out the `bytes` bytes at `offset`, and moves `offset` past them.
  // They count as one record, even if they are several or none. Errors are those of Damaged().
  absl::Status Skip(OpenChunk& open, uint64_t& offset, uint64_t bytes, const absl::Status& why,
                    bool one_record);

  // Lists the damage, or returns the error that ends the scan.
  absl::Status Damaged(DamagedRange range, const absl::Status& why);

  // Calls RecordCheck::Check(). If that returns kResourceExhausted, the record may be good, so
  // Damaged() then ends the scan with that error.
  absl::Status CheckRecord(std::span<const uint8_t> payload, bool& held);

  // KeepImages() counts the images of the records checked since its last call. DropImages() drops
  // them, because their records are left out.
  void KeepImages() { kept_images_ = check_.checked_images(); }
  void DropImages() { check_.set_checked_images(kept_images_); }

  // Calls options.on_features once: when the first records are checked, or with `all` in any case.
  // Its errors end the scan.
  absl::Status TellFeatures(bool all);

  uint64_t number = 0;  // Number in the file of the next record.
  ShardScan scan;

 private:
  const ByteSource& source_;
  const ScanOptions& options_;
  RecordCheck& check_;
  uint64_t end_ = 0;  // End of the last chunk in the file.
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
