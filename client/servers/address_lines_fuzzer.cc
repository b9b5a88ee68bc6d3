#include <cstddef>
#include <cstdint>

#include "client/servers/address_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto addresses = penstock::ParseAddressLines({reinterpret_cast<const char*>(data), size});
  if (addresses.ok() && addresses->empty()) __builtin_trap();
  return 0;
}
