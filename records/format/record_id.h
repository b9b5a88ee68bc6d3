// The number of a record that stands in a row.
#ifndef PENSTOCK_RECORDS_FORMAT_RECORD_ID_H_
#define PENSTOCK_RECORDS_FORMAT_RECORD_ID_H_

#include <cstdint>

namespace penstock {

// Set in the record_id of a row that stands for a record which is damaged or cannot be decoded; the
// rest is the id of the record that was taken instead.
inline constexpr uint64_t kReplacedRecord = uint64_t{1} << 63;

constexpr bool IsReplaced(uint64_t record_id) { return (record_id & kReplacedRecord) != 0; }

// The number of the row's record over the manifest.
constexpr uint64_t OrdinalOf(uint64_t record_id) { return record_id & ~kReplacedRecord; }

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_RECORD_ID_H_
