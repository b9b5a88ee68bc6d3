// Loads little-endian numbers from any alignment.
#ifndef PENSTOCK_BASE_LOAD_H_
#define PENSTOCK_BASE_LOAD_H_

#include <bit>
#include <cstdint>
#include <cstring>

namespace penstock {

static_assert(std::endian::native == std::endian::little);

// The caller guarantees that `p` has as many bytes as the number.
inline uint16_t Load16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

inline uint32_t Load32(const uint8_t* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

inline uint64_t Load64(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_LOAD_H_
