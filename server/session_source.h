// Opens sessions for the service's streams.
#ifndef PENSTOCK_SERVER_SESSION_SOURCE_H_
#define PENSTOCK_SERVER_SESSION_SOURCE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "records/engine/engine_options.h"
#include "records/engine/session.h"

namespace penstock {

// The engine, or a fake in a test. Thread-safe. Must outlive its sessions.
class SessionSource {
 public:
  struct Opened {
    std::unique_ptr<Session> session;
    ServerInfo info;            // Hello's description of this server and this spec.
    uint64_t credit_bytes = 0;  // Maximum number of bytes that the session may have outstanding.
  };

  virtual ~SessionSource() = default;
  // `events` must outlive the session. No event comes before the client's first OpenWindow.
  virtual absl::StatusOr<Opened> Open(const StreamOptions& options, SessionEvents& events) = 0;
  virtual EngineStats stats() const { return {}; }
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SESSION_SOURCE_H_
