#include "trainer/comm/local_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

std::string Numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = {};
  if (getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

bool IsLoopback(const std::string& address) {
  return address.empty() || address == "::1" || absl::StartsWith(address, "127.");
}

// Whether `host` names the host that uses it. Another host that was given such an address would
// reach itself.
bool NamesThisHost(const std::string& host) { return host == "localhost" || IsLoopback(host); }

// Returns the address that the kernel would send from. Sends nothing.
std::string SourceTowards(const addrinfo& target) {
  const int fd = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  std::string address;
  if (connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
    address = Numeric(reinterpret_cast<sockaddr*>(&own), size);
  }
  close(fd);
  return address;
}

bool IsLinkLocal(const sockaddr* address) {
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// Returns the address of the first interface that `wanted` accepts, or "".
std::string FindInterfaceAddress(int family, absl::FunctionRef<bool(const ifaddrs&)> wanted) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != family) continue;
    if (IsLinkLocal(it->ifa_addr) || !wanted(*it)) continue;
    return Numeric(it->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  }
  return "";
}

std::string FirstInterfaceAddress() {
  return FindInterfaceAddress(AF_INET, [](const ifaddrs& interface) {
    return (interface.ifa_flags & IFF_UP) != 0 && (interface.ifa_flags & IFF_LOOPBACK) == 0;
  });
}

}  // namespace

absl::StatusOr<std::string> LocalAddress(const RankInfo& info) {
  if (absl::StartsWith(info.rendezvous, "unix")) return "127.0.0.1";
  const size_t colon = info.rendezvous.rfind(':');
  std::string host = info.rendezvous.substr(0, colon);
  if (absl::StartsWith(host, "[")) host = host.substr(1, host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : info.rendezvous.substr(colon + 1);
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("rendezvous ", info.rendezvous, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::string address = SourceTowards(*found);
  // The default of --local-size does not prove that all ranks are on this host.
  if (IsLoopback(address) && !NamesThisHost(host)) {
    std::string outside = FirstInterfaceAddress();
    if (!outside.empty() || !info.one_host()) address = std::move(outside);
  }
  if (!address.empty()) return address;
  return absl::UnavailableError(absl::StrCat("no network interface reaches the rendezvous ",
                                             info.rendezvous, "; choose one with --interface"));
}

absl::StatusOr<std::string> InterfaceAddress(const std::string& interface) {
  for (const int family : {AF_INET, AF_INET6}) {
    std::string address = FindInterfaceAddress(
        family, [&](const ifaddrs& other) { return interface == other.ifa_name; });
    if (!address.empty()) return address;
  }
  return absl::UnavailableError(absl::StrCat(
      "--interface ", interface,
      ": there is no network interface of this name, or it has only link-local addresses"));
}

std::string LocalHostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "this host";
}

}  // namespace penstock
