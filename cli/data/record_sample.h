// The records that a person looks at: of a shard all, of a dataset some from everywhere.
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

// Calls `visit` with every record of the file; a status other than OK ends it.
absl::Status ForEachRecord(const ByteSource& shard,
                           absl::FunctionRef<absl::Status(const Record&)> visit);

// Calls `visit` with the records of evenly spaced chunks, among them the first, until there were
// `limit`. Checksums are verified. kFailedPrecondition: a shard changed since it was indexed.
absl::Status SampleRecords(const Manifest& manifest, uint64_t limit,
                           absl::FunctionRef<absl::Status(const ChunkInfo&, const Record&)> visit);

// Calls `visit` with one record of each of `count` equal parts of the manifest, and with its number
// over the manifest; with all records if there are no more. Which record of a part it is looks
// random, but never changes: evenly spaced ones might all be of one kind. Checksums are verified.
// kFailedPrecondition: as above.
absl::Status SampleEvenly(
    const Manifest& manifest, uint64_t count,
    absl::FunctionRef<void(uint64_t ordinal, std::span<const uint8_t> payload)> visit);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_
