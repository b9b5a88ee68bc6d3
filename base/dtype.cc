#include "base/dtype.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct DtypeRow {
  absl::string_view name;
  size_t size;
};

// One row for each dtype, in the order of the enumerators of Dtype.
constexpr std::array<DtypeRow, 7> kDtypes = {
    {{"u8", 1}, {"i8", 1}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"i64", 8}, {"i32", 4}}};

// Names in the order of the enumerators of WireDtype, which begin at 1.
constexpr std::array<absl::string_view, 5> kWireDtypes = {"packed", "i8", "bf16", "f32", "f64"};

}  // namespace

size_t DtypeSize(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].size; }
absl::string_view DtypeName(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].name; }

absl::string_view WireDtypeName(WireDtype dtype) {
  return kWireDtypes[static_cast<size_t>(dtype) - 1];
}

absl::StatusOr<WireDtype> ParseWireDtype(absl::string_view name) {
  for (size_t i = 0; i < kWireDtypes.size(); ++i) {
    if (kWireDtypes[i] == name) return static_cast<WireDtype>(i + 1);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("dtype '", name, "' is none of packed, i8, bf16, f32, f64"));
}

}  // namespace penstock
