#include "client/loader/transports.h"
#include "client/transport/grpc/grpc_transport.h"
#include "records/base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address,
                                                                const NetworkOptions& network) {
  PENSTOCK_RETURN_IF_ERROR(CheckNetworkOptions(address, network));
  return MakeGrpcTransport(address, network);
}

}  // namespace penstock
