#include "client/transport/local/local_transport.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/transport/local/local_payload.h"
#include "records/engine/engine.h"

namespace penstock {
namespace {

// The engine calls from several threads. A stream's events come one after the other.
class LocalStream final : public Stream, private SessionEvents {
 public:
  LocalStream(Engine& engine, const StreamOptions& options, StreamEvents& events)
      : payloads_(std::make_shared<LocalPayloadPool>()),
        data_root_(engine.options().data_root),
        events_(events) {
    absl::Status opened = Open(engine, options);
    if (!opened.ok()) Break(std::move(opened));
  }

  void OpenWindow(const penstock::OpenWindow& window) override {
    if (session_ != nullptr) BreakUnless(session_->OpenWindow(window));
  }
  void Fetch(const penstock::Fetch& fetch) override {
    if (session_ != nullptr) BreakUnless(session_->Fetch(fetch));
  }
  void Cancel(uint64_t request) override {
    if (session_ != nullptr) session_->Cancel(request);
  }
  void Release(uint64_t window) override {
    if (session_ != nullptr) BreakUnless(session_->Release(window));
  }

 private:
  absl::Status Open(Engine& engine, StreamOptions options) {
    options.checksums = false;  // There is no wire to guard.
    PENSTOCK_ASSIGN_OR_RETURN(session_, engine.OpenSession(options, *this));
    MutexLock lock(&mutex_);
    events_.OnEvent(session_->info());
    events_.OnEvent(Credit{engine.options().limits.session_part_bytes});
    return absl::OkStatus();
  }

  void BreakUnless(absl::Status status) {
    if (!status.ok()) Break(std::move(status));
  }
  void Break(absl::Status status) {
    MutexLock lock(&mutex_);
    if (std::exchange(broken_, true)) return;
    events_.OnEvent(StreamBroken{Annotate(status, "local:")});
  }
  void Tell(StreamEvent event) {
    MutexLock lock(&mutex_);
    if (!broken_) events_.OnEvent(std::move(event));
  }

  void OnWindowReady(uint64_t window, uint64_t read_bytes) override {
    Tell(WindowReady{window, read_bytes});
  }
  void OnPart(PartBuffer part) override {
    ReceivedPart received{.request = part.request,
                          .first_row = part.first_row,
                          .rows = part.rows,
                          .crc32c = std::nullopt,
                          .payload = nullptr,
                          .replaced = std::move(part.replaced),
                          .image_notes = std::move(part.image_notes)};
    received.payload = payloads_->Wrap(std::move(part));
    // Called without the lock, because the threads that decoded the parts copy them in parallel.
    events_.OnPart(std::move(received));
  }
  bool DecodesRows() const override { return events_.DecodesRows(); }
  void OnRows(RowSource& rows) override { events_.OnRows(rows); }
  void OnError(StreamError error) override {
    if (absl::IsNotFound(error.status)) {
      error.status = absl::NotFoundError(absl::StrCat(error.status.message(), " in ", data_root_));
    }
    Tell(std::move(error));
  }

  const std::shared_ptr<LocalPayloadPool> payloads_;  // Shared with the payloads in use.
  const std::string data_root_;
  Mutex mutex_;
  StreamEvents& events_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Session> session_;  // Last member: no event follows its end.
};

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  const std::string& address() const override { return address_; }
  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    return std::make_unique<LocalStream>(*engine_, options, events);
  }

 private:
  const std::string address_ = "local:";
  const std::unique_ptr<Engine> engine_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeLocalTransport(const EngineOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Create(options));
  return std::make_unique<LocalTransport>(std::move(engine));
}

}  // namespace penstock
