// Checks the structure of a JPEG after its headers.
#ifndef PENSTOCK_RECORDS_IMAGE_JPEG_SCAN_H_
#define PENSTOCK_RECORDS_IMAGE_JPEG_SCAN_H_

#include <cstdint>
#include <span>

namespace penstock {

// Returns whether `bytes`, which follow a scan header, hold the data of that scan with its restart
// markers, and then the end marker. Does not decode, so the data may still be damaged. Ignores
// everything after the end marker.
bool HoldsOneWholeScan(std::span<const uint8_t> bytes);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_JPEG_SCAN_H_
