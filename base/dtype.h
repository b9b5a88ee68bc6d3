// Element types of tensors, on the wire and in memory.
#ifndef PENSTOCK_BASE_DTYPE_H_
#define PENSTOCK_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The type of a tensor's elements. Numbers are little-endian.
enum class Dtype : uint8_t { kU8, kI8, kBf16, kF32, kF64, kI64, kI32 };

// Return the bytes of one element, and the name of the type. Results in the order of the
// enumerators:
size_t DtypeSize(Dtype dtype);             // 1, 1, 2, 4, 8, 8, 4
absl::string_view DtypeName(Dtype dtype);  // "u8", "i8", "bf16", "f32", "f64", "i64", "i32"

// The type that a user requests for the numeric tensors of a decode spec (--dtype). kPacked sends
// the bytes of the features as they are stored; the trainer expands them.
enum class WireDtype : uint8_t { kPacked = 1, kI8 = 2, kBf16 = 3, kF32 = 4, kF64 = 5 };

absl::string_view WireDtypeName(WireDtype dtype);  // "packed", "i8", "bf16", "f32", "f64"
// Returns kInvalidArgument for an unknown name. The message lists the accepted names.
absl::StatusOr<WireDtype> ParseWireDtype(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DTYPE_H_
