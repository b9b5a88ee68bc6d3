#include "client/servers/server_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

// Without brackets "::1:7070" could be an address with or without a port.
bool IsHost(absl::string_view host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  for (char c : host) {
    if (c == ':' && bracketed) continue;
    if (absl::StrContains(":/[],", c) || absl::ascii_isspace(c) || !absl::ascii_isprint(c)) {
      return false;
    }
  }
  return !host.empty();
}

// Returns false if `address` is not HOST:PORT.
bool SplitAddress(absl::string_view address, std::string& host, uint16_t& port) {
  const size_t colon = address.rfind(':');
  uint32_t number = 0;
  if (colon == absl::string_view::npos || !IsHost(address.substr(0, colon)) ||
      !absl::SimpleAtoi(address.substr(colon + 1), &number) || number == 0 || number > 65535) {
    return false;
  }
  host = std::string(address.substr(0, colon));
  port = static_cast<uint16_t>(number);
  return true;
}

absl::StatusOr<ServerTerm> ParseDns(absl::string_view text) {
  ServerTerm term = {.kind = ServerTerm::Kind::kDns, .text = std::string(text)};
  absl::string_view name = text;
  if (!absl::ConsumePrefix(&name, "dns:///") || !SplitAddress(name, term.host, term.port)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--servers: '", text, "' is not dns:///HOST:PORT; the port is needed"));
  }
  return term;
}

absl::StatusOr<ServerTerm> ParsePath(absl::string_view text) {
  absl::string_view path = absl::StripPrefix(text, "file:");
  if (absl::StartsWith(path, "///")) path.remove_prefix(2);  // "///" begins the path, as in a URI.
  if (path.empty()) {
    return absl::InvalidArgumentError("--servers: file: needs the path of a file or folder");
  }
  return ServerTerm{
      .kind = ServerTerm::Kind::kPath, .text = std::string(text), .path = std::string(path)};
}

absl::StatusOr<ServerTerm> ParseTerm(absl::string_view text) {
  if (text == kLocalServer) {
    return ServerTerm{.kind = ServerTerm::Kind::kLocal, .text = std::string(text)};
  }
  if (absl::StartsWith(text, "dns:")) return ParseDns(text);
  if (absl::StartsWith(text, "file:")) return ParsePath(text);
  PENSTOCK_RETURN_IF_ERROR(CheckServerAddress(text));
  return ServerTerm{.text = std::string(text)};
}

}  // namespace

absl::Status CheckServerAddress(absl::string_view address) {
  std::string host;
  uint16_t port = 0;
  if (SplitAddress(address, host, port)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--servers: '", address, "' is neither local:, HOST:PORT, dns:///HOST:PORT nor file:PATH"));
}

absl::StatusOr<std::vector<ServerTerm>> ParseServerList(absl::string_view servers) {
  std::vector<ServerTerm> terms;
  for (absl::string_view part : absl::StrSplit(servers, ',')) {
    PENSTOCK_ASSIGN_OR_RETURN(ServerTerm term, ParseTerm(absl::StripAsciiWhitespace(part)));
    const bool twice = std::any_of(terms.begin(), terms.end(),
                                   [&](const ServerTerm& t) { return t.text == term.text; });
    if (twice) {
      return absl::InvalidArgumentError(absl::StrCat("--servers: ", term.text, " is named twice"));
    }
    terms.push_back(std::move(term));
  }
  const bool has_local = std::any_of(terms.begin(), terms.end(), [](const ServerTerm& term) {
    return term.kind == ServerTerm::Kind::kLocal;
  });
  if (has_local && terms.size() > 1) {
    return absl::InvalidArgumentError("--servers: local: cannot be combined with other servers");
  }
  return terms;
}

}  // namespace penstock
