// Turns the bytes of a chunk into TFRecord frames.
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

// What must be known of a file to cut its records.
struct StoredRecords {
  Container container = Container::kTfRecord;
  uint64_t record_bytes = 0;    // Of kFixed: of each record.
  absl::string_view path = {};  // Of kImageFile.
  uint32_t label = 0;           // Of kImageFile: its class.
};

// Returns `stored`; if it is unset, what the first bytes of the file say. Errors as
// DetectContainer().
absl::StatusOr<StoredRecords> StoredAs(const ByteSource& source,
                                       const std::optional<StoredRecords>& stored);

// `keys` may be null; who reads a whole WebDataset shard gives them: NewWebDatasetCutter().
// REQUIRES: !HoldsFrames(stored.container).
std::unique_ptr<RecordCutter> NewCutter(const StoredRecords& stored, SampleKeys* keys = nullptr);

// Fills `frames` with the records of `bytes` as plain TFRecord frames. kDataLoss: the bytes are
// damaged, or hold records of other sizes. kResourceExhausted: Decompressor::Step().
// REQUIRES: stored.container is not kTfRecord, whose bytes are frames already.
absl::Status MakeFrames(const StoredRecords& stored, std::span<const uint8_t> bytes,
                        std::span<uint8_t> frames);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_FRAMES_H_
