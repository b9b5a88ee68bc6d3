#include "base/number_range.h"

#include <cfloat>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock {
namespace {

// SimpleAtoi() would also accept blanks and a sign.
bool IsDecimal(absl::string_view text) {
  return text.find_first_not_of("0123456789") == absl::string_view::npos &&
         (text.size() == 1 || !absl::StartsWith(text, "0"));
}

bool ParseWhole(absl::string_view text, uint64_t& value) {
  if (absl::StartsWithIgnoreCase(text, "0x")) return absl::SimpleHexAtoi(text, &value);
  return IsDecimal(text) && absl::SimpleAtoi(text, &value);
}

}  // namespace

absl::Status CheckWholeNumber(absl::string_view text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  if (ParseWhole(text, value) && value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a whole number from ", least, " to ", most));
}

absl::Status CheckNumber(absl::string_view text, double least, double most) {
  double value = 0;
  const bool digits = text.find_first_not_of("0123456789.eE+-") == absl::string_view::npos;
  if (digits && absl::SimpleAtod(text, &value) && value >= least && value <= most) {
    return absl::OkStatus();
  }
  // %.15g prints 1000000, where StrCat() would print 1e+06.
  const std::string range = most == DBL_MAX ? absl::StrFormat("of at least %.15g", least)
                                            : absl::StrFormat("from %.15g to %.15g", least, most);
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number ", range));
}

absl::Status CheckPositiveNumber(absl::string_view text) {
  if (CheckNumber(text, DBL_MIN, DBL_MAX).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a positive number that a double can hold"));
}

bool IsPort(absl::string_view text) {
  return IsDecimal(text) && CheckWholeNumber(text, 0, 65535).ok();
}

}  // namespace penstock
