// A call that ends before it has begun.
#ifndef PENSTOCK_SERVER_REFUSING_REACTOR_H_
#define PENSTOCK_SERVER_REFUSING_REACTOR_H_

#include "absl/status/status.h"
#include "server/grpc_status.h"

namespace penstock {

// `Base` is gRPC's reactor of that call. Owns itself.
template <typename Base>
class RefusingReactor final : public Base {
 public:
  explicit RefusingReactor(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_REFUSING_REACTOR_H_
