#include "server/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "records/base/status.h"
#include "records/io/unique_fd.h"
#include "server/port_owner.h"

namespace penstock {
namespace {

std::string ToString(const ListenAddress& address) {
  return absl::StrContains(address.host, ':') ? absl::StrCat("[", address.host, "]:", address.port)
                                              : absl::StrCat(address.host, ":", address.port);
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<Addresses> Resolve(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int error = getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error == 0) return Addresses(found, freeaddrinfo);
  return absl::InvalidArgumentError(
      absl::StrCat("listen on ", ToString(address), ": the host cannot be resolved (",
                   gai_strerror(error), "); give an address or a name of this machine"));
}

absl::Status ExplainBindError(int error, const ListenAddress& address) {
  std::string where = ToString(address);
  if (error == EADDRINUSE) {
    std::string owner = DescribePortOwner(address.port);
    return absl::UnavailableError(absl::StrCat(
        where, ": the port is in use", owner.empty() ? "" : absl::StrCat(" by ", owner),
        "; stop that process, or choose another port (0 takes a free one)"));
  }
  if (error == EADDRNOTAVAIL) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": no network interface of this machine has that address"));
  }
  return ErrnoToStatus(error, absl::StrCat("listen on ", where));
}

}  // namespace

bool ListenAddress::IsLoopback() const {
  return host == "localhost" || host == "::1" || absl::StartsWith(host, "127.");
}

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text) {
  auto bad = [text] {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not HOST:PORT; give e.g. 127.0.0.1:7070, or port 0 for a free one"));
  };
  size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return bad();
  absl::string_view host = text.substr(0, colon);
  bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty() || (!bracketed && absl::StrContains(host, ':'))) return bad();
  absl::string_view digits = text.substr(colon + 1);
  uint32_t port = 0;
  if (digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &port) || port > 65535) {
    return bad();
  }
  return ListenAddress{.host = std::string(host), .port = static_cast<uint16_t>(port)};
}

absl::Status CheckListenHost(const ListenAddress& address) { return Resolve(address).status(); }

absl::Status ProbeListenAddress(const ListenAddress& address) {
  PENSTOCK_ASSIGN_OR_RETURN(const Addresses found, Resolve(address));
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // As gRPC does, so that connections of a server that has ended are not in the way.
  int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), 1) != 0) {
    return ExplainBindError(errno, address);
  }
  return absl::OkStatus();
}

std::string ReachableAddress(const std::string& address, absl::string_view host) {
  const size_t colon = address.rfind(':');
  const absl::string_view listens = absl::string_view(address).substr(0, colon);
  const bool everywhere = listens == "0.0.0.0" || listens == "[::]";
  char name[HOST_NAME_MAX + 1] = {};
  if (host.empty() && everywhere && gethostname(name, sizeof name - 1) == 0) host = name;
  if (host.empty()) return address;
  const bool bare_ipv6 = absl::StrContains(host, ":") && host.front() != '[';
  return absl::StrCat(bare_ipv6 ? "[" : "", host, bare_ipv6 ? "]" : "", address.substr(colon));
}

}  // namespace penstock
