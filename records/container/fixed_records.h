// Cuts records of one size without framing, such as CIFAR's binary files.
#ifndef PENSTOCK_RECORDS_CONTAINER_FIXED_RECORDS_H_
#define PENSTOCK_RECORDS_CONTAINER_FIXED_RECORDS_H_

#include <cstdint>

#include "records/container/record_cutter.h"

namespace penstock {

// The payload of a record is its bytes. Not thread-safe.
class FixedRecordCutter final : public RecordCutter {
 public:
  // REQUIRES: record_bytes > 0.
  explicit FixedRecordCutter(uint64_t record_bytes) : record_bytes_(record_bytes) {}

  // kDataLoss: the bytes end within a record.
  absl::StatusOr<Cut> Next(std::span<const uint8_t> bytes, bool at_end) override;

 private:
  const uint64_t record_bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_FIXED_RECORDS_H_
