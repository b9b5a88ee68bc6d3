// gRPC's standard health protocol, for load balancers and orchestrators. This is our own, because
// gRPC 1.51 as packaged answers every request with "could not parse request".
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

// Knows the whole server ("") and penstock.v1.PieceService, which always have the same status. Also
// knows "liveness", which is SERVING as long as the process answers, so that a draining server is
// not killed. No token is required. Thread-safe.
class HealthService {
 public:
  explicit HealthService(const ServiceLimits& limits)
      : max_watches_(limits.max_health_watches), timeout_(limits.hello_timeout) {}

  // Adds Check and Watch. This object must outlive the server of `router`.
  void AddCallsTo(CallRouter& router);
  // The status is SERVING until this is called.
  void SetServing(bool serving);
  bool is_serving() const;

 private:
  friend class HealthCheck;
  friend class HealthWatch;

  // Sends the current status of the service to the watch, and each change from now on.
  // kResourceExhausted: too many watches are open already.
  absl::Status Add(HealthWatch& watch, const std::string& service);
  void Remove(HealthWatch& watch);

  const size_t max_watches_;
  const absl::Duration timeout_;  // Time limit for receiving a request.
  mutable Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = true;
  size_t num_watches_ ABSL_GUARDED_BY(mutex_) = 0;
  // The watches of the server's own status.
  std::set<HealthWatch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_HEALTH_SERVICE_H_
