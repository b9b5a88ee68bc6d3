// Reads records to show: all records of a shard, or some that are spread over a dataset.
#ifndef PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_
#define PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "records/dataset/manifest.h"
#include "records/format/tfrecord_reader.h"

namespace penstock {

// Calls `visit` with every record of the file. A status other than OK ends it.
absl::Status ForEachRecord(const ByteSource& shard,
                           absl::FunctionRef<absl::Status(const Record&)> visit);

// Calls `visit` with the records of evenly spaced chunks, including the first, until it has seen
// `limit` records. Verifies checksums. kFailedPrecondition: a shard changed since it was indexed.
absl::Status SampleRecords(const Manifest& manifest, uint64_t limit,
                           absl::FunctionRef<absl::Status(const ChunkInfo&, const Record&)> visit);

// Divides the manifest into `count` equal parts and calls `visit` with one record of each, and with
// the record's number in the manifest. If there are no more than `count` records, visits all of
// them. The choice within a part looks random but never changes: evenly spaced records might all be
// of one kind. Verifies checksums. kFailedPrecondition: a shard changed since it was indexed.
absl::Status SampleEvenly(
    const Manifest& manifest, uint64_t count,
    absl::FunctionRef<void(uint64_t ordinal, std::span<const uint8_t> payload)> visit);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_
