// Loads big-endian numbers from any alignment. JPEG, PNG and half of all EXIF blocks use them.
#ifndef PENSTOCK_RECORDS_IMAGE_BIG_ENDIAN_H_
#define PENSTOCK_RECORDS_IMAGE_BIG_ENDIAN_H_

#include <cstdint>

namespace penstock {

inline uint32_t LoadBig16(const uint8_t* p) { return uint32_t{p[0]} << 8 | p[1]; }
inline uint32_t LoadBig32(const uint8_t* p) { return LoadBig16(p) << 16 | LoadBig16(p + 2); }

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_BIG_ENDIAN_H_
