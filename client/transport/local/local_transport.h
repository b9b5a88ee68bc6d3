// A "server" inside this process: the embedded default.
#ifndef PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/transport/transport.h"
#include "records/engine/engine_options.h"

namespace penstock {

// Runs an engine of its own, whose address is "local:". Its streams must go before it does;
// payloads may outlive both. Hello arrives inside Connect(). Once warm, parts take no memory.
// kInvalidArgument: an option; kNotFound, kPermissionDenied: the data root.
absl::StatusOr<std::unique_ptr<Transport>> MakeLocalTransport(const EngineOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_
