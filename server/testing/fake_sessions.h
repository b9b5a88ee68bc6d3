// Sessions whose answers a test decides.
#ifndef PENSTOCK_SERVER_TESTING_FAKE_SESSIONS_H_
#define PENSTOCK_SERVER_TESTING_FAKE_SESSIONS_H_

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "server/session_source.h"

namespace penstock {

// Gives out memory and counts what was not returned. Thread-safe.
class CountingHome final : public PartHome {
 public:
  PartBuffer Make(uint64_t request, uint32_t first_row, uint32_t rows, size_t size, uint8_t fill) {
    auto* memory = new uint8_t[size];
    std::memset(memory, fill, size);
    ++outstanding_;
    PartBuffer part(this, {memory, size}, size);
    part.request = request;
    part.first_row = first_row;
    part.rows = rows;
    return part;
  }
  void Return(std::span<uint8_t> memory) override {
    delete[] memory.data();
    MutexLock lock(&mutex_);
    --outstanding_;
    changed_.NotifyAll();
  }
  void WaitUntilAllReturned() {
    MutexLock lock(&mutex_);
    while (outstanding_ > 0) changed_.Wait(&mutex_);
  }

 private:
  std::atomic<int> outstanding_{0};
  Mutex mutex_;
  CondVar changed_;
};

// The behaviour of a fake session. Set it before the server starts; the server's threads call it. A
// hook that is not set returns OK and does nothing else.
struct FakeBehaviour {
  std::function<absl::Status(const StreamOptions&)> on_open = nullptr;
  std::function<absl::Status(SessionEvents&, const OpenWindow&)> on_window = nullptr;
  std::function<absl::Status(SessionEvents&, const Fetch&)> on_fetch = nullptr;
  std::function<void(SessionEvents&, uint64_t)> on_cancel = nullptr;
  std::function<absl::Status(SessionEvents&, uint64_t)> on_release = nullptr;
  std::function<void(std::shared_ptr<PartMemory>)> on_memory = nullptr;
  std::function<SessionStats()> on_stats = nullptr;
  std::function<EngineStats()> on_engine_stats = nullptr;
  std::function<void()> on_close = nullptr;
};

class FakeSession final : public Session {
 public:
  FakeSession(const FakeBehaviour& behaviour, SessionEvents& events)
      : behaviour_(behaviour), events_(events) {}
  ~FakeSession() override {
    if (behaviour_.on_close) behaviour_.on_close();
  }

  absl::Status OpenWindow(struct OpenWindow window) override {
    return behaviour_.on_window ? behaviour_.on_window(events_, window) : absl::OkStatus();
  }
  absl::Status Fetch(const struct Fetch& fetch) override {
    return behaviour_.on_fetch ? behaviour_.on_fetch(events_, fetch) : absl::OkStatus();
  }
  void Cancel(uint64_t request) override {
    if (behaviour_.on_cancel) behaviour_.on_cancel(events_, request);
  }
  absl::Status Release(uint64_t window) override {
    return behaviour_.on_release ? behaviour_.on_release(events_, window) : absl::OkStatus();
  }
  SessionStats stats() const override {
    return behaviour_.on_stats ? behaviour_.on_stats() : SessionStats{};
  }
  void UsePartMemory(std::shared_ptr<PartMemory> memory) override {
    if (behaviour_.on_memory) behaviour_.on_memory(std::move(memory));
  }

 private:
  const FakeBehaviour& behaviour_;
  SessionEvents& events_;
};

class FakeSessions final : public SessionSource {
 public:
  static constexpr uint64_t kInstance = 0xfeedfacecafebeef;
  static constexpr uint64_t kCredit = 123456;

  explicit FakeSessions(FakeBehaviour behaviour) : behaviour_(std::move(behaviour)) {}

  absl::StatusOr<Opened> Open(const StreamOptions& options, SessionEvents& events) override {
    absl::Status status = behaviour_.on_open ? behaviour_.on_open(options) : absl::OkStatus();
    if (!status.ok()) return status;
    Opened opened;
    opened.session = std::make_unique<FakeSession>(behaviour_, events);
    opened.info.instance = kInstance;
    opened.info.cores = 2;
    opened.credit_bytes = kCredit;
    return opened;
  }
  EngineStats stats() const override {
    return behaviour_.on_engine_stats ? behaviour_.on_engine_stats() : EngineStats{};
  }

 private:
  const FakeBehaviour behaviour_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_TESTING_FAKE_SESSIONS_H_
