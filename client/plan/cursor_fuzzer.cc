// Feeds any text to Cursor::Parse(). It must return, and what it accepts is written back byte for
// byte.
#include <cstdint>
#include <cstdlib>

#include "client/plan/cursor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<penstock::Cursor> cursor = penstock::Cursor::Parse(text);
  if (cursor.ok() && cursor->ToString() != text) std::abort();
  return 0;
}
