// The engine inside the caller's process: the embedded default, without any server.
#ifndef PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/transport/transport.h"
#include "records/engine/engine_options.h"

namespace penstock {

// Its address is "local:". Every stream is a session of one engine, made here. A part is handed
// over as the engine's own buffer, without a copy and, once warm, without an allocation. Streams
// and parts may outlive the transport. OnHello comes from inside Connect().
// Errors as Engine::Create().
absl::StatusOr<std::unique_ptr<Transport>> MakeLocalTransport(const EngineOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_LOCAL_LOCAL_TRANSPORT_H_
