#include "client/servers/address_lines.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/servers/server_list.h"

namespace penstock {
namespace {

absl::Status LineError(size_t line, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", line, ": '", absl::CHexEscape(text.substr(0, 80)), "' is not HOST:PORT"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseAddressLines(absl::string_view text) {
  if (!text.empty() && text.back() != '\n') {
    return absl::InvalidArgumentError(
        "the last line has no newline, so the file may be incomplete");
  }
  std::vector<std::string> addresses;
  size_t line = 0;
  for (absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view address = absl::StripAsciiWhitespace(whole.substr(0, whole.find('#')));
    if (address.empty()) continue;
    if (!CheckServerAddress(address).ok()) return LineError(line, address);
    addresses.emplace_back(address);
  }
  if (addresses.empty())
    return absl::InvalidArgumentError("the file names no server; write one HOST:PORT a line");
  return addresses;
}

}  // namespace penstock
