// Resolves names to addresses.
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
  // Returns every IPv4 and IPv6 address of `host`, as ADDRESS:PORT. Blocks. Errors: kCancelled soon
  // after `stop` is requested, kNotFound if there is no such name, kUnavailable if no name server
  // could answer.
  virtual absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host, uint16_t port,
                                                           const std::stop_token& stop) = 0;
};

// Uses getaddrinfo(3), which asks /etc/hosts, DNS and whatever else the system is configured for.
std::shared_ptr<Resolver> MakeSystemResolver();

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_RESOLVER_H_
