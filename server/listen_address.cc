#include "server/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Adds the inodes of the listening sockets on `port`, from a table of /proc/net (proc(5)). Field 1
// is ADDRESS:PORT in hexadecimal, field 3 is the state (0A: listening), and field 9 is the inode.
void AddListeningInodes(const char* table, uint16_t port, std::set<std::string>& inodes) {
  std::ifstream file(table);
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() < 10 || fields[3] != "0A") continue;
    size_t colon = fields[1].rfind(':');
    if (colon == std::string::npos) continue;
    if (std::strtoul(fields[1].c_str() + colon + 1, nullptr, 16) == port) inodes.insert(fields[9]);
  }
}

bool HoldsOneOf(const std::set<std::string>& inodes, const fs::path& process) {
  std::error_code error;
  for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    std::string target = fs::read_symlink(fd->path(), gone).string();
    if (target.rfind("socket:[", 0) == 0 && inodes.count(target.substr(8, target.size() - 9)) > 0) {
      return true;
    }
  }
  return false;
}

std::string Name(const fs::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::string DescribePortOwner(uint16_t port) {
  std::set<std::string> inodes;
  AddListeningInodes("/proc/net/tcp", port, inodes);
  AddListeningInodes("/proc/net/tcp6", port, inodes);
  if (inodes.empty()) return "";
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    if (HoldsOneOf(inodes, entry->path())) {
      return absl::StrCat(Name(entry->path()), " (process ", pid, ")");
    }
  }
  return "";
}

namespace {

std::string ToString(const ListenAddress& address) {
  return absl::StrContains(address.host, ':') ? absl::StrCat("[", address.host, "]:", address.port)
                                              : absl::StrCat(address.host, ":", address.port);
}

// Whether a listener on `all`, an address that stands for several, also takes `host`. An IPv6
// listener takes IPv4 too.
bool Covers(const std::string& all, const std::string& host) {
  return all == "::" || (all == "0.0.0.0" && !absl::StrContains(host, ':')) ||
         (all == "localhost" && (host == "127.0.0.1" || host == "::1"));
}

bool IsIpv6(absl::string_view host) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

// This is more permissive than DNS, which allows no underscore.
bool IsHostName(absl::string_view host) {
  constexpr size_t kMaxName = 253;
  return !host.empty() && host.size() <= kMaxName && host.front() != '-' && host.front() != '.' &&
         absl::c_all_of(host, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

}  // namespace

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

bool Overlap(const ListenAddress& a, const ListenAddress& b) {
  if (a.port != b.port || a.port == 0) return false;
  return a.host == b.host || Covers(a.host, b.host) || Covers(b.host, a.host);
}

absl::StatusOr<ResolvedAddresses> ResolveListenHost(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int error = getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error == 0) return ResolvedAddresses(found, freeaddrinfo);
  return absl::InvalidArgumentError(
      absl::StrCat("listen on ", ToString(address), ": the host cannot be resolved (",
                   gai_strerror(error), "); give an address or a name of this machine"));
}

absl::Status CheckListenHost(const ListenAddress& address) {
  return ResolveListenHost(address).status();
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

absl::Status CheckReachableHost(absl::string_view host) {
  absl::string_view bare = host;
  const bool bracketed = absl::ConsumePrefix(&bare, "[") && absl::ConsumeSuffix(&bare, "]");
  if (bracketed ? IsIpv6(bare) : IsIpv6(host) || IsHostName(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", host,
                   "\" is not a host name or address; give one without "
                   "a port, e.g. node7, 10.0.0.7 or fd00::7"));
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
