// The structure of a JPEG behind its headers.
#ifndef PENSTOCK_RECORDS_IMAGE_JPEG_SCAN_H_
#define PENSTOCK_RECORDS_IMAGE_JPEG_SCAN_H_

#include <cstdint>
#include <span>

namespace penstock {

// Whether `bytes`, which follow a scan header, hold the data of that scan, its restart markers, and
// then the end marker. Reads no code, so the data may still be damaged; ignores what follows the
// end marker.
bool HoldsOneWholeScan(std::span<const uint8_t> bytes);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_JPEG_SCAN_H_
