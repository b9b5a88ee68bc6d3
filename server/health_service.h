// gRPC's standard health protocol, for load balancers and orchestrators. Our own because the
// packaged gRPC 1.51's answers every request with "could not parse request".
#ifndef PENSTOCK_SERVER_HEALTH_SERVICE_H_
#define PENSTOCK_SERVER_HEALTH_SERVICE_H_

#include <cstddef>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/call_router.h"
#include "server/service_limits.h"

namespace penstock {

class HealthWatch;

// Knows the whole server ("") and penstock.v1.PieceService, which are always of one status, and
// "liveness", which is SERVING as long as anybody answers: a draining server is not to be killed.
// Nobody needs a token here. Thread-safe.
class HealthService {
 public:
  explicit HealthService(const ServiceLimits& limits)
      : max_watches_(limits.max_health_watches), timeout_(limits.hello_timeout) {}

  // Check and Watch. It outlives the server that `router` belongs to.
  void AddCallsTo(CallRouter& router);
  // SERVING until told otherwise.
  void SetServing(bool serving);
  bool is_serving() const;

 private:
  friend class HealthCheck;
  friend class HealthWatch;

  // Tells the watch of this service what is so now, and from now on. kResourceExhausted: too many
  // are open already.
  absl::Status Add(HealthWatch& watch, const std::string& service);
  void Remove(HealthWatch& watch);

  const size_t max_watches_;
  const absl::Duration timeout_;  // For a request.
  mutable Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = true;
  size_t num_watches_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);  // Of the server's own status.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HEALTH_SERVICE_H_
