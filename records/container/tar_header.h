// Parses the header block of a tar member: POSIX ustar and pax, GNU tar, and V7.
//
//   offset  bytes  field
//        0    100  name
//      124     12  size: octal digits, or base-256 if the first bit is set
//      148      8  checksum: sum of the block's bytes, these eight counted as spaces
//      156      1  type
//      257      6  magic: "ustar\0" of POSIX, "ustar " of GNU, anything else of V7
//      345    155  prefix of the name, POSIX only
#ifndef PENSTOCK_RECORDS_CONTAINER_TAR_HEADER_H_
#define PENSTOCK_RECORDS_CONTAINER_TAR_HEADER_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

constexpr size_t kTarBlock = 512;

struct TarHeader {
  // The full name is `prefix`, a slash unless `prefix` is empty, and `name`. Both point into the
  // block.
  absl::string_view prefix;
  absl::string_view name;
  char type = '0';    // A NUL, which V7 writes for a regular file, is returned as '0'.
  uint64_t size = 0;  // Bytes of the member.
};

// REQUIRES: `block` has kTarBlock bytes. kDataLoss: the checksum is wrong, or the size is not a
// number from 0 to 2^64 - 1. Some old programs sum the bytes as signed numbers; both sums are
// accepted.
absl::StatusOr<TarHeader> ParseTarHeader(std::span<const uint8_t> block);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_TAR_HEADER_H_
