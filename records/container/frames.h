// Converts the bytes of a chunk to TFRecord frames.
#ifndef PENSTOCK_RECORDS_CONTAINER_FRAMES_H_
#define PENSTOCK_RECORDS_CONTAINER_FRAMES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "records/container/container.h"
#include "records/container/record_cutter.h"
#include "records/container/sample_keys.h"

namespace penstock {

// The facts about a file that are needed to cut its records.
struct StoredRecords {
  Container container = Container::kTfRecord;
  uint64_t record_bytes = 0;    // Only for kFixed: bytes of each record.
  absl::string_view path = {};  // Only for kImageFile: path of the file. It must outlive this.
  uint32_t label = 0;           // Only for kImageFile: number of the file's class.
};

// Returns `stored` if it is set, and otherwise what DetectContainer() finds. Errors are those of
// DetectContainer().
absl::StatusOr<StoredRecords> StoredAs(const ByteSource& source,
                                       const std::optional<StoredRecords>& stored);

// Creates the cutter for these records. `keys` may be null; set it if you read a whole WebDataset
// shard (NewWebDatasetCutter()). `keys` must outlive the cutter.
// REQUIRES: !HoldsFrames(stored.container).
std::unique_ptr<RecordCutter> NewCutter(const StoredRecords& stored, SampleKeys* keys = nullptr);

// Fills `frames` with the records of `bytes` as uncompressed TFRecord frames.
// kDataLoss: the bytes are damaged, or their records have other sizes.
// kResourceExhausted: as for Decompressor::Step().
// REQUIRES: stored.container is not kTfRecord, whose bytes already are frames.
absl::Status MakeFrames(const StoredRecords& stored, std::span<const uint8_t> bytes,
                        std::span<uint8_t> frames);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_FRAMES_H_
