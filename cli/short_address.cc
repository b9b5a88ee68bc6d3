#include "cli/short_address.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

absl::string_view HostOf(absl::string_view address) {
  return address.substr(0, address.rfind(':'));
}

// Not 10.0.0.1 or [::1].
bool IsName(absl::string_view host) {
  return host.find_first_not_of("0123456789.") != host.npos && !absl::StartsWith(host, "[");
}

// From a dot on, that one or a later one; empty without.
absl::string_view DomainOf(absl::string_view host, size_t from = 0) {
  const size_t dot = host.find('.', from);
  return dot == host.npos ? absl::string_view() : host.substr(dot);
}

// ".example.org" of "a.example.org" and "b.c.example.org".
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

}  // namespace penstock
