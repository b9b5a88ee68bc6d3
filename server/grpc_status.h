// absl::Status and grpc::Status number their codes alike.
#ifndef PENSTOCK_SERVER_GRPC_STATUS_H_
#define PENSTOCK_SERVER_GRPC_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace penstock {

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GRPC_STATUS_H_
