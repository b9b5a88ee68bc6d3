#include "cli/terminal/narrow_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

// Divides `count` until it has three digits. Returns the number of divisions, which is less than
// `units`.
size_t Scale(double& count, double base, size_t units) {
  size_t unit = 0;
  // A count that rounds to 1000 belongs to the next unit.
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

namespace {

absl::string_view HostOf(absl::string_view address) {
  return address.substr(0, address.rfind(':'));
}

// Whether `host` is a name, and not 10.0.0.1 or [::1].
bool IsName(absl::string_view host) {
  return host.find_first_not_of("0123456789.") != host.npos && !absl::StartsWith(host, "[");
}

// Returns the part from the first dot at or after `from`; empty if there is no dot.
absl::string_view DomainOf(absl::string_view host, size_t from = 0) {
  const size_t dot = host.find('.', from);
  return dot == host.npos ? absl::string_view() : host.substr(dot);
}

// Returns ".example.org" for "a.example.org" and "b.c.example.org".
std::string SharedDomain(const std::vector<std::string>& addresses) {
  std::optional<absl::string_view> shared;
  for (const std::string& address : addresses) {
    const absl::string_view host = HostOf(address);
    if (!IsName(host)) continue;
    if (!shared) shared = DomainOf(host);
    while (!absl::EndsWith(host, *shared)) shared = DomainOf(*shared, /*from=*/1);
  }
  return std::string(shared.value_or(""));
}

void DropDomain(std::string& address, absl::string_view domain) {
  const absl::string_view host = HostOf(address);
  if (!IsName(host)) return;
  address.erase(host.size() - domain.size(), domain.size());
}

}  // namespace

std::string CutInTheMiddle(const std::string& text, size_t columns) {
  if (text.size() <= columns) return text;
  const size_t kept = columns - 2, end = (kept + 1) / 2;
  return absl::StrCat(text.substr(0, kept - end), "..", text.substr(text.size() - end));
}

std::vector<std::string> ShortAddresses(std::vector<std::string> addresses, size_t columns) {
  const auto fits = [&](const std::string& address) { return address.size() <= columns; };
  if (std::ranges::all_of(addresses, fits)) return addresses;
  const std::string domain = SharedDomain(addresses);
  for (std::string& address : addresses) {
    DropDomain(address, domain);
    address = CutInTheMiddle(address, columns);
  }
  return addresses;
}

std::vector<std::string> FirstLines(std::vector<std::string> lines, size_t most, size_t columns) {
  constexpr absl::string_view kMore = "..";
  if (lines.size() <= most) return lines;
  lines.resize(most);
  std::string& last = lines.back();
  last.resize(std::min(last.size(), columns - std::min(columns, kMore.size())));
  absl::StrAppend(&last, kMore);
  return lines;
}

}  // namespace penstock
