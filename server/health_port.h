// A second port that answers health and nothing else, in plaintext: for probes that speak no TLS,
// as Kubernetes' do.
#ifndef PENSTOCK_SERVER_HEALTH_PORT_H_
#define PENSTOCK_SERVER_HEALTH_PORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/health_service.h"

namespace grpc {
class Server;
}

namespace penstock {

// Serves until destroyed. Thread-safe.
class HealthPort {
 public:
  // HOST:PORT; port 0 takes a free one. Errors as Server::Start().
  static absl::StatusOr<std::unique_ptr<HealthPort>> Start(const std::string& listen);
  ~HealthPort();

  const std::string& address() const { return address_; }
  void SetServing(bool serving) { health_.SetServing(serving); }

 private:
  HealthPort() = default;

  HealthService health_;
  std::unique_ptr<grpc::Server> grpc_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HEALTH_PORT_H_
