// Where the service's streams get their sessions.
#ifndef PENSTOCK_SERVER_SESSION_SOURCE_H_
#define PENSTOCK_SERVER_SESSION_SOURCE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "records/engine/engine.h"
#include "records/engine/engine_options.h"
#include "records/engine/session.h"

namespace penstock {

// The engine, or a fake of a test. Thread-safe; outlives its sessions.
class SessionSource {
 public:
  struct Opened {
    std::unique_ptr<Session> session;
    ServerInfo info;            // What the Hello says of this server and this spec.
    uint64_t credit_bytes = 0;  // What the session may have outstanding.
  };

  virtual ~SessionSource() = default;
  // `events` outlives the session; no event comes before the client's first OpenWindow.
  virtual absl::StatusOr<Opened> Open(const StreamOptions& options, SessionEvents& events) = 0;
  virtual EngineStats stats() const { return {}; }
};

// The engine itself. Thread-safe.
class EngineSessions final : public SessionSource {
 public:
  // What waits to be decoded costs no memory, so a stream may ask for several times what the
  // engine lets it hold: requests must be there while others wait for their window.
  static constexpr uint64_t kCreditPerPartByte = 4;

  explicit EngineSessions(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  absl::StatusOr<Opened> Open(const StreamOptions& options, SessionEvents& events) override {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                              engine_->OpenSession(options, events));
    const ServerInfo info = session->info();
    return Opened{
        .session = std::move(session),
        .info = info,
        .credit_bytes = kCreditPerPartByte * engine_->options().limits.session_part_bytes};
  }
  EngineStats stats() const override { return engine_->stats(); }

 private:
  const std::unique_ptr<Engine> engine_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_SESSION_SOURCE_H_
