#include "server/health_port.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/process_stats.h"
#include "base/status.h"
#include "grpcpp/grpcpp.h"
#include "server/connection_limits.h"
#include "server/hand_over.h"
#include "server/listen_address.h"
#include "server/listener.h"

namespace penstock {
namespace {

// This is enough for the name of a service.
constexpr int kMaxRequestBytes = 4 << 10;

ListenerOptions OptionsOfHealth() {
  const uint64_t share = std::max<uint64_t>(DescriptorLimit() / 8, 1);
  return {.cure_of_tls = "it is the --health-listen port, so configure the probe without TLS",
          .max_connections = std::min(HealthPort::kMaxConnections, share)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<HealthPort>> HealthPort::Start(const std::string& listen,
                                                              const ServiceLimits& limits,
                                                              ConnectionGuard& guard) {
  std::unique_ptr<HealthPort> health(new HealthPort(limits, guard));
  PENSTOCK_RETURN_IF_ERROR(health->Listen(listen));
  return health;
}

HealthPort::HealthPort(const ServiceLimits& limits, ConnectionGuard& guard)
    : health_(limits), router_(GuardedPort(guard)) {
  health_.AddCallsTo(router_);
}

absl::Status HealthPort::Listen(const std::string& listen) {
  PENSTOCK_ASSIGN_OR_RETURN(const ListenAddress parsed, ParseListenAddress(listen));
  PENSTOCK_ASSIGN_OR_RETURN(listener_, Listener::Bind(parsed));
  grpc::ServerBuilder builder;
  LimitConnections(builder);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  Listener::HandOver hand_over =
      HandOverTo(builder, grpc::InsecureServerCredentials(), router_.port());
  builder.RegisterCallbackGenericService(&router_);
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) return absl::InternalError("gRPC could not start a server");
  address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", listener_->port());
  return listener_->Start(OptionsOfHealth(), std::move(hand_over));
}

HealthPort::~HealthPort() {
  listener_.reset();
  if (grpc_ != nullptr) grpc_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace penstock
