// A port that a test keeps, also while nobody listens there.
#ifndef PENSTOCK_TESTS_RESERVED_PORT_H_
#define PENSTOCK_TESTS_RESERVED_PORT_H_

#include <arpa/inet.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "gtest/gtest.h"

namespace penstock {

// Of 127.0.0.1. While it lives the kernel gives the port to nobody who asks for a free one; a
// server that is told to listen there may, as often as it starts.
class ReservedPort {
 public:
  ReservedPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Two sockets may have the same port if both say so and one listens at most.
    const int yes = 1;
    EXPECT_EQ(setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  const std::string& address() const { return address_; }
  // The socket, bound; stays this object's.
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_RESERVED_PORT_H_
