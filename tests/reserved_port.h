// Reserves a port for a test, even while nothing listens there.
#ifndef PENSTOCK_TESTS_RESERVED_PORT_H_
#define PENSTOCK_TESTS_RESERVED_PORT_H_

#include <arpa/inet.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "gtest/gtest.h"

namespace penstock {

// A port of 127.0.0.1. While this lives, the kernel does not give the port to programs that ask for
// a free one. A server may be told to listen there, any number of times.
class ReservedPort {
 public:
  ReservedPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Two sockets may have the same port if both set this option and at most one listens.
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
  // The bound socket, which this object owns.
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_RESERVED_PORT_H_
