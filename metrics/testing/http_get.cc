#include "metrics/testing/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>

namespace penstock {

UniqueFd Connect(const std::string& address, const char* from) {
  sockaddr_in source = {};
  source.sin_family = AF_INET;
  inet_pton(AF_INET, from, &source.sin_addr);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(&address[address.rfind(':') + 1])));
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval minute = {.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&source), sizeof(source)) != 0 ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    fd.Reset();
  }
  return fd;
}

bool Send(const UniqueFd& connection, const std::string& bytes) {
  const ssize_t sent = send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::string ReadToEnd(const UniqueFd& connection) {
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = recv(connection.get(), buffer, sizeof(buffer), 0)) > 0;) {
    all.append(buffer, static_cast<size_t>(got));
  }
  return all;
}

std::string HttpGet(const std::string& address, const std::string& path) {
  const UniqueFd connection = Connect(address);
  const bool asked = connection.valid() && Send(connection, "GET " + path + " HTTP/1.0\r\n\r\n");
  return asked ? ReadToEnd(connection) : "";
}

}  // namespace penstock
