#include "records/image/jpeg_scan.h"

#include <algorithm>
#include <cstring>

namespace penstock {

// ITU-T T.81, B.1.1: the byte after 0xff is 0, which makes 0xff a byte of data, or a marker, or
// another 0xff, which is fill.
bool HoldsOneWholeScan(std::span<const uint8_t> bytes) {
  constexpr uint8_t kData = 0x00, kFill = 0xff, kFirstRestart = 0xd0, kLastRestart = 0xd7;
  constexpr uint8_t kEnd = 0xd9;
  const uint8_t* at = bytes.data();
  const uint8_t* const end = at + bytes.size();
  while (at != end) {
    at = static_cast<const uint8_t*>(std::memchr(at, kFill, static_cast<size_t>(end - at)));
    if (at == nullptr) return false;
    at = std::find_if(at, end, [](uint8_t byte) { return byte != kFill; });
    if (at == end) return false;
    const uint8_t marker = *at++;
    if (marker == kEnd) return true;
    if (marker != kData && (marker < kFirstRestart || marker > kLastRestart)) return false;
  }
  return false;
}

}  // namespace penstock
