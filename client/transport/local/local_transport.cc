#include "client/transport/local/local_transport.h"

#include <string>
#include <utility>

#include "client/transport/local/local_payload.h"
#include "records/base/mutex.h"
#include "records/base/status.h"
#include "records/engine/engine.h"

namespace penstock {
namespace {

// Thread-safe: the engine's events are passed on one at a time.
class LocalStream final : public Stream, public SessionEvents {
 public:
  LocalStream(std::shared_ptr<Engine> engine, StreamEvents& events)
      : engine_(std::move(engine)), events_(events), payloads_(LocalPayloadPool::Create()) {}
  ~LocalStream() override { session_.reset(); }

  void Start(const StreamOptions& options) {
    absl::StatusOr<ServerInfo> info = engine_->Describe(options);
    if (!info.ok()) return Break(info.status());
    absl::StatusOr<std::unique_ptr<Session>> session = engine_->OpenSession(options, *this);
    if (!session.ok()) return Break(session.status());
    session_ = *std::move(session);
    MutexLock lock(&mutex_);
    events_.OnHello(*info);
    events_.OnCredit(engine_->options().limits.session_part_bytes);
  }

  void OpenWindow(const penstock::OpenWindow& window) override {
    if (session_ != nullptr) BreakUnlessOk(session_->OpenWindow(window));
  }
  void Fetch(const penstock::Fetch& fetch) override {
    if (session_ != nullptr) BreakUnlessOk(session_->Fetch(fetch));
  }
  void Cancel(uint64_t request) override {
    if (session_ != nullptr) session_->Cancel(request);
  }
  void Release(uint64_t window) override {
    if (session_ != nullptr) BreakUnlessOk(session_->Release(window));
  }

  void OnWindowReady(uint64_t window, uint64_t read_bytes) override {
    MutexLock lock(&mutex_);
    if (!broken_) events_.OnWindowReady(window, read_bytes);
  }
  void OnPart(PartBuffer part) override {
    ReceivedPart received{part.request, part.first_row, part.rows, nullptr};
    received.payload = payloads_->Wrap(std::move(part));
    MutexLock lock(&mutex_);
    if (!broken_) events_.OnPart(std::move(received));
  }
  void OnError(StreamError error) override {
    MutexLock lock(&mutex_);
    if (!broken_) events_.OnError(std::move(error));
  }

 private:
  void BreakUnlessOk(absl::Status status) {
    if (!status.ok()) Break(std::move(status));
  }
  void Break(absl::Status status) {
    MutexLock lock(&mutex_);
    if (!std::exchange(broken_, true)) events_.OnBroken(std::move(status));
  }

  const std::shared_ptr<Engine> engine_;  // Shared by the transport and its streams.
  StreamEvents& events_;
  const std::shared_ptr<LocalPayloadPool> payloads_;  // Shared with parts in use.
  Mutex mutex_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Session> session_;  // Null: it could not be opened.
};

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  const std::string& address() const override { return address_; }
  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    auto stream = std::make_unique<LocalStream>(engine_, events);
    stream->Start(options);
    return stream;
  }

 private:
  const std::string address_ = "local:";
  const std::shared_ptr<Engine> engine_;  // Shared with its streams.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeLocalTransport(const EngineOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Create(options));
  return std::make_unique<LocalTransport>(std::move(engine));
}

}  // namespace penstock
