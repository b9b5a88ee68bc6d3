#include "server/health_port.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "records/base/status.h"
#include "server/listen_address.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<HealthPort>> HealthPort::Start(const std::string& listen) {
  PENSTOCK_ASSIGN_OR_RETURN(const ListenAddress parsed, ParseListenAddress(listen));
  PENSTOCK_RETURN_IF_ERROR(ProbeListenAddress(parsed));
  std::unique_ptr<HealthPort> health(new HealthPort);
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&health->health_);
  health->grpc_ = builder.BuildAndStart();
  if (health->grpc_ == nullptr || port == 0) {
    PENSTOCK_RETURN_IF_ERROR(ProbeListenAddress(parsed));
    return absl::UnavailableError(absl::StrCat("listen on ", listen, ": gRPC could not start"));
  }
  health->address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port);
  return health;
}

HealthPort::~HealthPort() {
  if (grpc_ != nullptr) grpc_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace penstock
