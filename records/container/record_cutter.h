// Cuts shards in containers other than TFRecord into records. The payload of each record is an
// Example (docs/internals/adr/2026-11-26-other-containers-become-examples.md).
#ifndef PENSTOCK_RECORDS_CONTAINER_RECORD_CUTTER_H_
#define PENSTOCK_RECORDS_CONTAINER_RECORD_CUTTER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"

namespace penstock {

// Cuts records from the front of a shard's bytes. A record and its payload depend only on the bytes
// of the record, so a chunk gives the same records as the whole shard. Not thread-safe.
class RecordCutter {
 public:
  struct Cut {
    enum class What : uint8_t { kRecord, kMore, kEnd };
    What what = What::kEnd;
    // The meaning depends on `what`.
    // kRecord: bytes up to the end of the record, including everything before the record.
    // kMore: bytes that the next call needs, more than bytes.size(). If the file has fewer bytes,
    // pass all that are left, with `at_end`.
    // kEnd: all of `bytes`. Neither they nor anything after them holds a record.
    uint64_t size = 0;
    // A serialized tf.train.Example, valid until the next call. Set only for kRecord.
    std::span<const uint8_t> payload;
  };

  virtual ~RecordCutter() = default;

  // Cuts the next record. `bytes` begin where the last record ended. After kMore they begin with
  // the bytes of the last call. After anything else, errors included, they may come from another
  // shard or chunk. `at_end` says that nothing follows `bytes` in the file or chunk; the result is
  // then never kMore.
  // kDataLoss: the bytes are damaged or refused.
  // kResourceExhausted: a limit of the container is exceeded.
  // Messages name the cause and its place, in bytes from the front of `bytes`.
  virtual absl::StatusOr<Cut> Next(std::span<const uint8_t> bytes, bool at_end) = 0;

  // Checks the end of a whole file, after a kEnd for the bytes from offset `begin` on. Chunks have
  // no such end.
  // kDataLoss: the file lacks the mark that ends its container, or something follows the mark.
  virtual absl::Status CheckEnd(const ByteSource& /*file*/, uint64_t /*begin*/) const {
    return absl::OkStatus();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_RECORD_CUTTER_H_
