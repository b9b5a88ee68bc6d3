// A "server" inside this process. It is the default.
#ifndef PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/transport/transport.h"
#include "records/engine/engine_options.h"

namespace penstock {

// Makes a transport with an engine of its own. Its address is "local:". Its streams must be
// destroyed before it; payloads may outlive both. Hello arrives inside Connect(). Once warm, parts
// allocate nothing. kInvalidArgument: an option is wrong. kNotFound, kPermissionDenied: the data
// root cannot be opened. kResourceExhausted: a thread could not be started.
absl::StatusOr<std::unique_ptr<Transport>> MakeLocalTransport(const EngineOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_
