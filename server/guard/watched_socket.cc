#include "server/guard/watched_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>  // Its tcp_info has the totals, unlike the one in netinet/tcp.h.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"

namespace penstock {
namespace {

// Returns 0 if the descriptor is not open, or is not a socket.
ino_t InodeOf(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

std::string NameOf(const sockaddr_in6& ip) {
  char text[INET6_ADDRSTRLEN];
  if (IN6_IS_ADDR_V4MAPPED(&ip.sin6_addr)) {
    inet_ntop(AF_INET, &ip.sin6_addr.s6_addr[12], text, sizeof text);
    return absl::StrCat("ipv4:", text);
  }
  inet_ntop(AF_INET6, &ip.sin6_addr, text, sizeof text);
  const std::string scope = ip.sin6_scope_id == 0 ? "" : absl::StrCat("%25", ip.sin6_scope_id);
  return absl::StrCat("ipv6:%5B", text, scope, "%5D");
}

std::string NameOf(const in_addr& address) {
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address, text, sizeof text);
  return absl::StrCat("ipv4:", text);
}

}  // namespace

WatchedSocket::WatchedSocket(int socket) : number_(socket), inode_(InodeOf(socket)) {}

bool WatchedSocket::IsOpen() const { return inode_ != 0 && InodeOf(number_) == inode_; }

std::optional<TcpTotals> WatchedSocket::ReadTotals() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (!IsOpen() || getsockopt(number_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) {
    return std::nullopt;
  }
  return TcpTotals{info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

void WatchedSocket::SetReceiveBuffer(int bytes) const {
  if (IsOpen()) setsockopt(number_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void WatchedSocket::Abort() const {
  // The duplicate refers to this connection while we check and reset it, whatever others close.
  const UniqueFd pinned(fcntl(number_, F_DUPFD_CLOEXEC, 0));
  if (!pinned.valid() || InodeOf(pinned.get()) != inode_) return;
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  if (connect(pinned.get(), &nobody, sizeof nobody) != 0) shutdown(pinned.get(), SHUT_RDWR);
}

PeerName PeerNameOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(address);
    const std::string host = NameOf(ip.sin_addr);
    return {absl::StrCat(host, ":", ntohs(ip.sin_port)), host};
  }
  if (address.ss_family != AF_INET6) return {"unknown", "unknown"};
  const auto& ip = reinterpret_cast<const sockaddr_in6&>(address);
  const std::string host = NameOf(ip);
  return {absl::StrCat(host, ":", ntohs(ip.sin6_port)), host};
}

}  // namespace penstock
