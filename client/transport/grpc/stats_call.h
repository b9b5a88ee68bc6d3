// Asks a server for its statistics.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_STATS_CALL_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_STATS_CALL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/transport/network_options.h"
#include "proto/pieces.pb.h"

namespace penstock {

// Keeps its connection between calls. Thread-safe.
class StatsCaller {
 public:
  virtual ~StatsCaller() = default;
  virtual const std::string& address() const = 0;
  // Asks the server. Blocks. kUnavailable: no answer came within `timeout`. The other errors are
  // those of a stream (grpc_transport.h). Every message starts with the address.
  virtual absl::StatusOr<v1::ServerStats> Ask(absl::Duration timeout) = 0;
};

// `address` is HOST:PORT.
std::unique_ptr<StatsCaller> MakeStatsCaller(std::string address, NetworkOptions network = {});

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_STATS_CALL_H_
