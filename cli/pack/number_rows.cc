#include "cli/pack/number_rows.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/pack/columns.h"

namespace penstock {
namespace {

// The host is little-endian, like the arrays.
template <typename T>
T LoadAs(std::span<const uint8_t> row, size_t at) {
  T value;
  std::memcpy(&value, row.data() + at, sizeof(T));
  return value;
}

template <typename T>
void ConvertInts(std::span<const uint8_t> row, std::vector<int64_t>& out) {
  out.clear();
  for (size_t at = 0; at < row.size(); at += sizeof(T)) {
    out.push_back(static_cast<int64_t>(LoadAs<T>(row, at)));
  }
}

// Converts an IEEE binary16 number.
float HalfToFloat(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent < 31) return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                       : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

absl::Status ReadInts(std::span<const uint8_t> row, const NpyHeader& header,
                      std::vector<int64_t>& out) {
  const bool is_signed = header.kind == NpyKind::kInt;
  switch (header.item_bytes) {
    case 1:
      is_signed ? ConvertInts<int8_t>(row, out) : ConvertInts<uint8_t>(row, out);
      return absl::OkStatus();
    case 2:
      is_signed ? ConvertInts<int16_t>(row, out) : ConvertInts<uint16_t>(row, out);
      return absl::OkStatus();
    case 4:
      is_signed ? ConvertInts<int32_t>(row, out) : ConvertInts<uint32_t>(row, out);
      return absl::OkStatus();
    default:
      ConvertInts<int64_t>(row, out);
  }
  for (size_t i = 0; !is_signed && i < out.size(); ++i) {
    if (out[i] >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(static_cast<uint64_t>(out[i]), " does not fit into int64"));
  }
  return absl::OkStatus();
}

absl::Status ReadFloats(std::span<const uint8_t> row, uint32_t item_bytes,
                        std::vector<float>& out) {
  out.resize(row.size() / item_bytes);
  for (size_t i = 0; i < out.size(); ++i) {
    if (item_bytes == 2) {
      out[i] = HalfToFloat(LoadAs<uint16_t>(row, 2 * i));
    } else if (item_bytes == 4) {
      out[i] = LoadAs<float>(row, 4 * i);
    } else if (const double value = LoadAs<double>(row, 8 * i); !NarrowToFloat(value, out[i])) {
      return absl::InvalidArgumentError(absl::StrCat(value, " does not fit into float32"));
    }
  }
  return absl::OkStatus();
}

std::string DtypeText(const NpyHeader& header) {
  if (header.kind == NpyKind::kBool) return "bool";
  const char* kind = header.kind == NpyKind::kInt    ? "int"
                     : header.kind == NpyKind::kUint ? "uint"
                                                     : "float";
  return absl::StrCat(kind, 8 * header.item_bytes);
}

absl::Status ReadIntsAsFloats(std::span<const uint8_t> row, const NpyHeader& header,
                              std::vector<float>& out) {
  std::vector<int64_t> ints;
  PENSTOCK_RETURN_IF_ERROR(ReadInts(row, header, ints));
  out.clear();
  for (const int64_t value : ints) {
    const auto number = static_cast<float>(value);
    // The largest int64 rounds to 2^63, which is no int64.
    if (number >= 0x1p63f || static_cast<int64_t>(number) != value) {
      return absl::InvalidArgumentError(absl::StrCat(value, " of ", DtypeText(header),
                                                     " cannot be stored as float without loss"));
    }
    out.push_back(number);
  }
  return absl::OkStatus();
}

absl::Status ReadFloatsAsInts(std::span<const uint8_t> row, const NpyHeader& header,
                              std::vector<int64_t>& out) {
  out.clear();
  for (size_t at = 0; at < row.size(); at += header.item_bytes) {
    const double number = header.item_bytes == 2   ? HalfToFloat(LoadAs<uint16_t>(row, at))
                          : header.item_bytes == 4 ? LoadAs<float>(row, at)
                                                   : LoadAs<double>(row, at);
    // The condition is also false for NaN.
    if (!(number >= -0x1p63 && number < 0x1p63 && number == std::trunc(number))) {
      return absl::InvalidArgumentError(
          absl::StrCat(number, " of ", DtypeText(header), " cannot be stored as int64"));
    }
    out.push_back(static_cast<int64_t>(number));
  }
  return absl::OkStatus();
}

}  // namespace penstock
