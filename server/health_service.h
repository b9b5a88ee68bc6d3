// gRPC's standard health protocol, for load balancers and orchestrators. Our own because the
// packaged gRPC 1.51's answers every request with "could not parse request".
#ifndef PENSTOCK_SERVER_HEALTH_SERVICE_H_
#define PENSTOCK_SERVER_HEALTH_SERVICE_H_

#include <cstddef>
#include <set>

#include "proto/health.grpc.pb.h"
#include "records/base/mutex.h"
#include "server/guard/connection_guard.h"
#include "server/service_limits.h"

namespace penstock {

class HealthWatch;

// Knows the whole server ("") and penstock.v1.PieceService, which are always of one status, and
// "liveness", which is SERVING as long as anybody answers: a draining server is not to be killed.
// Thread-safe.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  // `guard` outlives it.
  HealthService(const ServiceLimits& limits, const ConnectionGuard& guard)
      : max_watches_(limits.max_health_watches), guard_(guard) {}

  // SERVING until told otherwise.
  void SetServing(bool serving);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  // RESOURCE_EXHAUSTED: too many are open already. Nobody needs a token here.
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  friend class HealthWatch;

  const size_t max_watches_;
  const ConnectionGuard& guard_;
  Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = true;
  size_t num_watches_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);  // Of the server's own status.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HEALTH_SERVICE_H_
