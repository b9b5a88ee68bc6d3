// Gives the service's streams their sessions.
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
    ServerInfo info;            // What Hello says of this server and this spec.
    uint64_t credit_bytes = 0;  // How many bytes the session may have outstanding.
  };

  virtual ~SessionSource() = default;
  // `events` must outlive the session. No event comes before the client's first OpenWindow.
  virtual absl::StatusOr<Opened> Open(const StreamOptions& options, SessionEvents& events) = 0;
  virtual EngineStats stats() const { return {}; }
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SESSION_SOURCE_H_
