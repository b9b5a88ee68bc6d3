// Makes sessions of the real engine for the service.
#ifndef PENSTOCK_SERVER_ENGINE_SESSIONS_H_
#define PENSTOCK_SERVER_ENGINE_SESSIONS_H_

#include <memory>
#include <utility>

#include "base/status.h"
#include "records/engine/engine.h"
#include "server/session_source.h"

namespace penstock {

// Thread-safe.
class EngineSessions final : public SessionSource {
 public:
  // Rows that wait to be decoded use no memory. So a stream may request several times what the
  // engine lets it hold: some requests must be ready while others wait for their window.
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
  uint64_t working_bytes() const override { return engine_->image_bytes(); }

 private:
  const std::unique_ptr<Engine> engine_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_ENGINE_SESSIONS_H_
