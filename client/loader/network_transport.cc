#include "client/loader/transports.h"
#include "client/transport/grpc/grpc_transport.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address) {
  return MakeGrpcTransport(address);
}

}  // namespace penstock
