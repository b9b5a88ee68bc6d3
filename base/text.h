// Formats numbers for people, and makes untrusted text safe to show.
#ifndef PENSTOCK_BASE_TEXT_H_
#define PENSTOCK_BASE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Formats 1234567 as "1,234,567".
inline std::string Grouped(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

// Formats a number that is not negative with three significant digits and without an exponent:
// "0.0123", "48.1", "1,190".
inline std::string ThreeDigits(double value) {
  if (value >= 999.5) return Grouped(static_cast<uint64_t>(value + 0.5));
  return value < 1e-4 ? "0" : absl::StrFormat("%.3g", value);
}

// Returns "1 record" or "1,234 records".
inline std::string Counted(uint64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(Grouped(count), " ", count == 1 ? one : many);
}

// Formats a time as "1:02:03" or "2:03".
inline std::string ClockText(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

// Returns `text` with "?" for every byte that is not printable ASCII, so that it can neither end a
// log line nor control a terminal.
inline std::string Printable(absl::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return printable;
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_TEXT_H_
