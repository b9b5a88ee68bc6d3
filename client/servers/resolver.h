// From names to addresses.
#ifndef PENSTOCK_CLIENT_SERVERS_RESOLVER_H_
#define PENSTOCK_CLIENT_SERVERS_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

// Thread-safe.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // Every IPv4 and IPv6 address of `host`, as ADDRESS:PORT. Blocks; kCancelled soon after `stop`
  // is requested. kNotFound: there is no such name; kUnavailable: nobody could tell.
  virtual absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host, uint16_t port,
                                                           const std::stop_token& stop) = 0;
};

// getaddrinfo(3): /etc/hosts, DNS and what else the system is set up for.
std::shared_ptr<Resolver> MakeSystemResolver();

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_RESOLVER_H_
