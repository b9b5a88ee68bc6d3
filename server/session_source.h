// Opens sessions for the service's streams.
#ifndef PENSTOCK_SERVER_SESSION_SOURCE_H_
#define PENSTOCK_SERVER_SESSION_SOURCE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
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
  // Upper bound for the memory of malloc() that these sessions' work uses now.
  virtual uint64_t working_bytes() const { return 0; }
};

// Returns `allocated()`, the bytes that malloc() has given out, without those of the sessions'
// work. Work that begins counts before its memory is allocated, and until that is freed, so both
// looks at it count.
inline uint64_t AllocatedBesides(const SessionSource& work,
                                 const std::function<uint64_t()>& allocated) {
  const uint64_t before = work.working_bytes();
  const uint64_t bytes = allocated();
  return bytes - std::min(bytes, std::max(before, work.working_bytes()));
}

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SESSION_SOURCE_H_
