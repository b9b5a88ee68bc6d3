// Tells which host names always mean this machine, whoever resolves them.
#ifndef PENSTOCK_BASE_IO_LOOPBACK_H_
#define PENSTOCK_BASE_IO_LOOPBACK_H_

#include <arpa/inet.h>

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// True for "localhost", "::1" and the addresses of 127.0.0.0/8 written as four numbers. A name such
// as 127.example.com may belong to anybody.
inline bool IsLoopbackHost(absl::string_view host) {
  in_addr address{};
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1) {
    return ntohl(address.s_addr) >> 24 == 127;
  }
  return host == "localhost" || host == "::1";
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_LOOPBACK_H_
