// A second port that answers health and nothing else, in plaintext: for probes that speak no TLS,
// as Kubernetes' do.
#ifndef PENSTOCK_SERVER_HEALTH_PORT_H_
#define PENSTOCK_SERVER_HEALTH_PORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/health_service.h"
#include "server/service_limits.h"

namespace grpc {
class Server;
}

namespace penstock {

class Listener;

// Serves until destroyed. Takes few descriptors, whoever connects: the others are for those who
// come for data. Thread-safe.
class HealthPort {
 public:
  // Or an eighth of the descriptors, if that is less.
  static constexpr uint64_t kMaxConnections = 1024;

  // HOST:PORT; port 0 takes a free one. `guard` outlives it. Errors as Server::Start().
  static absl::StatusOr<std::unique_ptr<HealthPort>> Start(const std::string& listen,
                                                           const ServiceLimits& limits,
                                                           ConnectionGuard& guard);
  ~HealthPort();

  const std::string& address() const { return address_; }
  void SetServing(bool serving) { health_.SetServing(serving); }

 private:
  HealthPort(const ServiceLimits& limits, ConnectionGuard& guard);
  absl::Status Listen(const std::string& listen);

  HealthService health_;
  CallRouter router_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<Listener> listener_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HEALTH_PORT_H_
