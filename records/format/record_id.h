// The number of the record that a row holds.
#ifndef PENSTOCK_RECORDS_FORMAT_RECORD_ID_H_
#define PENSTOCK_RECORDS_FORMAT_RECORD_ID_H_

#include <cstdint>

namespace penstock {

// This bit is set in the record_id of a row whose record is damaged or cannot be decoded. The other
// bits are then the id of the record that replaces it.
inline constexpr uint64_t kReplacedRecord = uint64_t{1} << 63;

constexpr bool IsReplaced(uint64_t record_id) { return (record_id & kReplacedRecord) != 0; }

// Returns the ordinal of the row's record in the manifest.
constexpr uint64_t OrdinalOf(uint64_t record_id) { return record_id & ~kReplacedRecord; }

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_RECORD_ID_H_
