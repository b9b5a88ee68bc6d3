#include "base/byte_size.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock {
namespace {

absl::StatusOr<double> UnitFactor(absl::string_view unit) {
  if (unit.empty() || unit == "b") return 1.0;
  const size_t power = absl::string_view("kmgt").find(unit[0]);
  absl::string_view rest = unit.substr(1);
  if (power == absl::string_view::npos) return absl::InvalidArgumentError("");
  if (rest.empty() || rest == "i" || rest == "ib") return std::pow(1024.0, power + 1);
  if (rest == "b") return std::pow(1000.0, power + 1);
  return absl::InvalidArgumentError("");
}

}  // namespace

absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  const size_t end = lower.find_first_not_of("0123456789.");
  const absl::string_view number = absl::string_view(lower).substr(0, end);
  const absl::string_view unit =
      end == std::string::npos
          ? ""
          : absl::StripLeadingAsciiWhitespace(absl::string_view(lower).substr(end));
  absl::StatusOr<double> factor = UnitFactor(unit);
  double value = 0;
  if (!factor.ok() || !absl::SimpleAtod(number, &value) || value * *factor >= 0x1p63) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a size such as 256KiB, 64MB or 1.5GiB"));
  }
  return static_cast<uint64_t>(value * *factor);
}

absl::StatusOr<uint64_t> ParseByteSizeFrom(absl::string_view text, uint64_t least) {
  absl::StatusOr<uint64_t> bytes = ParseByteSize(text);
  if (!bytes.ok() || *bytes >= least) return bytes;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is ", *bytes, " bytes, less than ",
                                                 FormatByteSize(least), "; give a unit, as in ",
                                                 "64MiB"));
}

absl::StatusOr<uint64_t> ParseByteSizeOrZero(absl::string_view text, uint64_t least) {
  const absl::StatusOr<uint64_t> bytes = ParseByteSize(text);
  return bytes.ok() && *bytes == 0 ? bytes : ParseByteSizeFrom(text, least);
}

std::string FormatByteSize(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string FormatByteRate(double bytes_per_second) {
  return absl::StrCat(FormatByteSize(static_cast<uint64_t>(bytes_per_second)), "/s");
}

}  // namespace penstock
