#include "records/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace penstock {

uint32_t Crc32c(std::span<const uint8_t> data, uint32_t seed) {
  constexpr size_t kMaxCall = size_t{1} << 30;  // isa-l takes an int.
  uint32_t state = ~seed;
  while (!data.empty()) {
    size_t size = std::min(data.size(), kMaxCall);
    // isa-l's prototype lacks const; it only reads.
    state = crc32_iscsi(const_cast<uint8_t*>(data.data()), static_cast<int>(size), state);
    data = data.subspan(size);
  }
  return ~state;
}

}  // namespace penstock
