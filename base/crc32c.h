// CRC-32C (Castagnoli), and the masking that TFRecord applies to it.
#ifndef PENSTOCK_BASE_CRC32C_H_
#define PENSTOCK_BASE_CRC32C_H_

#include <cstdint>
#include <span>

namespace penstock {

// The CRC-32C of `data` (RFC 3720, appendix B.4). `seed` is the CRC of the bytes before `data`:
// Crc32c(b, Crc32c(a)) is the CRC of a followed by b.
uint32_t Crc32c(std::span<const uint8_t> data, uint32_t seed = 0);

// TFRecord rotates a CRC and adds a constant before it stores it
// (tensorflow/core/lib/hash/crc32c.h). The CRC of bytes that contain CRCs then stays meaningful.
constexpr uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace penstock

#endif  // PENSTOCK_BASE_CRC32C_H_
