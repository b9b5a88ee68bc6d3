// A second port that answers only health, in plaintext, for probes that do not speak TLS, such as
// those of Kubernetes.
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

// Serves until it is destroyed. Uses few descriptors, whoever connects, because the clients that
// come for data need the others. Thread-safe.
class HealthPort {
 public:
  // Maximum number of connections, or an eighth of the descriptor limit if that is less.
  static constexpr uint64_t kMaxConnections = 1024;

  // `listen` is HOST:PORT; port 0 takes a free port. `guard` must outlive it. Fails as
  // Server::Start() does.
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
