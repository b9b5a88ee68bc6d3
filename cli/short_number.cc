#include "cli/short_number.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_format.h"

namespace penstock {
namespace {

// Divides `count` until it has three digits; returns how often, less than `units` times.
size_t Scale(double& count, double base, size_t units) {
  size_t unit = 0;
  // What rounds to 1000 belongs to the next unit.
  for (; count >= 999.5 && unit + 1 < units; ++unit) count /= base;
  return unit;
}

}  // namespace

std::string ShortCount(double count) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  const size_t unit = Scale(count, 1000, std::size(kUnits));
  if (unit == 0) return absl::StrFormat("%.0f", count);
  const int digits = count < 9.995 ? 2 : count < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f%s", digits, count, kUnits[unit]);
}

std::string ShortBytes(double bytes) {
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const size_t unit = Scale(bytes, 1024, std::size(kUnits));
  return absl::StrFormat("%.*f%s", unit > 0 && bytes < 9.95 ? 1 : 0, bytes, kUnits[unit]);
}

std::string ShortWhole(double count) {
  return count < 9999.5 ? absl::StrFormat("%.0f", count) : absl::StrFormat("%.0fk", count / 1000);
}

std::string ShortCores(double cores) {
  return cores < 99.95 ? absl::StrFormat("%.1f", cores) : ShortWhole(cores);
}

std::string ShortPercent(double share) { return absl::StrFormat("%.0f%%", 100 * share); }

}  // namespace penstock
