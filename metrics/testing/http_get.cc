#include "metrics/testing/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>

namespace penstock {
namespace {

// The server lingers a second before it closes.
bool IsWhole(const std::string& answer) {
  const size_t body = answer.find("\r\n\r\n");
  const size_t length = answer.find("Content-Length: ");
  if (body == std::string::npos || length == std::string::npos) return false;
  return answer.size() - body - 4 >= std::strtoul(&answer[length + 16], nullptr, 10);
}

}  // namespace

UniqueFd Connect(const std::string& address) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(&address[address.rfind(':') + 1])));
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval minute = {.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) fd.Reset();
  return fd;
}

std::string HttpGet(const std::string& address, const std::string& path) {
  const UniqueFd fd = Connect(address);
  std::string answer;
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  if (fd.valid() && send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    for (ssize_t got; !IsWhole(answer) && (got = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(got));
    }
  }
  return answer;
}

}  // namespace penstock
