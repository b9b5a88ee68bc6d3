// The records that a person looks at: of a shard all, of a dataset some from everywhere.
#ifndef PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_
#define PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_

#include <cstdint>
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

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_SAMPLE_H_
