#include "base/io/byte_source.h"

#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status ShortReadError(absl::string_view name, uint64_t offset, uint64_t size,
                            uint64_t actual_size) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, ": the file has ", actual_size, " bytes, but bytes ", offset, " to ",
                   offset + size, " are needed: it was truncated or replaced; index it again"));
}

}  // namespace penstock
