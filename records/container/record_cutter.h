// Shards in a container other than TFRecord are cut into records, whose payloads are Examples
// (docs/internals/adr/2026-11-26-other-containers-become-examples.md).
#ifndef PENSTOCK_RECORDS_CONTAINER_RECORD_CUTTER_H_
#define PENSTOCK_RECORDS_CONTAINER_RECORD_CUTTER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace penstock {

// Cuts the records from the front of a shard's bytes. A record and its payload depend on the bytes
// of the record alone, so a chunk gives the same records as the shard. Not thread-safe.
class RecordCutter {
 public:
  struct Cut {
    enum class What : uint8_t { kRecord, kMore, kEnd };
    What what = What::kEnd;
    // kRecord: bytes up to the record's end, including all that lies before the record.
    // kMore: bytes that the next call must have before it can say more; more than bytes.size(). If
    // the file ends before them, pass all that is left and `at_end`.
    // kEnd: all of `bytes`; neither they nor what follows them hold a record.
    uint64_t size = 0;
    // kRecord: a serialized tf.train.Example, valid until the next call.
    std::span<const uint8_t> payload;
  };

  virtual ~RecordCutter() = default;

  // `bytes` begin where the last record ended. After kMore they begin with the bytes of the last
  // call; after anything else, an error included, they may be those of another shard or chunk.
  // `at_end`: nothing follows `bytes` in the file or chunk; kMore is then never returned.
  // kDataLoss: damaged or refused. kResourceExhausted: a limit of the container is passed. Both
  // name the cause and where it lies, in bytes from the front of `bytes`.
  virtual absl::StatusOr<Cut> Next(std::span<const uint8_t> bytes, bool at_end) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_RECORD_CUTTER_H_
