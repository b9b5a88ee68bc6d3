// Sizes as people write them.
#ifndef PENSTOCK_BASE_BYTE_SIZE_H_
#define PENSTOCK_BASE_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// "262144", "256KiB", "1.5 GiB", "64MB": decimal and binary units, any case, B optional; a bare
// K, M, G, T is binary. kInvalidArgument otherwise, with an example.
absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text);

// The same; kInvalidArgument, too, for less than `least`: the unit was forgotten.
absl::StatusOr<uint64_t> ParseByteSizeFrom(absl::string_view text, uint64_t least);

// The same, where 0 has a meaning of its own.
absl::StatusOr<uint64_t> ParseByteSizeOrZero(absl::string_view text, uint64_t least);

// "0 B", "217 B", "4.0 KiB", "1.5 GiB".
std::string FormatByteSize(uint64_t bytes);

// "1.5 GiB/s".
std::string FormatByteRate(double bytes_per_second);

}  // namespace penstock

#endif  // PENSTOCK_BASE_BYTE_SIZE_H_
