// Finds the servers behind a DNS name.
#ifndef PENSTOCK_CLIENT_SERVERS_DNS_LOOK_H_
#define PENSTOCK_CLIENT_SERVERS_DNS_LOOK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/servers/resolver.h"
#include "client/servers/server_look.h"

namespace penstock {

// Every address of a name is a server. While the name cannot be resolved, or has no address, the
// last known servers stay, so that a failing name server does not cost a job its servers. Not
// thread-safe.
class DnsLook final : public ServerLook {
 public:
  DnsLook(std::string host, uint16_t port, std::shared_ptr<Resolver> resolver);

  ServerSet Look(const std::stop_token& stop) override;

 private:
  const std::string host_;
  const uint16_t port_;
  const std::shared_ptr<Resolver> resolver_;  // Shared with the looks at other names.
  std::vector<std::string> known_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_DNS_LOOK_H_
