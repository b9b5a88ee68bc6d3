// The port that a socket is bound to.
#ifndef PENSTOCK_BASE_IO_LOCAL_PORT_H_
#define PENSTOCK_BASE_IO_LOCAL_PORT_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace penstock {

// Returns the port in host byte order. REQUIRES: `socket` is a bound IPv4 or IPv6 socket.
inline uint16_t LocalPort(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_LOCAL_PORT_H_
