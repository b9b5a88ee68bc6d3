// Parses and formats sizes in bytes as people write them.
#ifndef PENSTOCK_BASE_BYTE_SIZE_H_
#define PENSTOCK_BASE_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Parses "262144", "256KiB", "1.5 GiB" or "64MB". Units are decimal or binary, in any case, and the
// B is optional; a bare K, M, G or T is binary. Returns kInvalidArgument for any other text, with
// an example in the message.
absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text);

// Like ParseByteSize(), but also returns kInvalidArgument if the size is below `least`: the unit
// was probably forgotten.
absl::StatusOr<uint64_t> ParseByteSizeFrom(absl::string_view text, uint64_t least);

// Like ParseByteSizeFrom(), but also accepts 0, which has a meaning of its own.
absl::StatusOr<uint64_t> ParseByteSizeOrZero(absl::string_view text, uint64_t least);

// Formats a size: "0 B", "217 B", "4.0 KiB", "1.5 GiB".
std::string FormatByteSize(uint64_t bytes);

// Formats a rate: "1.5 GiB/s".
std::string FormatByteRate(double bytes_per_second);

}  // namespace penstock

#endif  // PENSTOCK_BASE_BYTE_SIZE_H_
