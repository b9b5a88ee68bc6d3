// What streams and the consumer tell the loader's thread.
#ifndef PENSTOCK_CLIENT_LOADER_INBOX_H_
#define PENSTOCK_CLIENT_LOADER_INBOX_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/fetch/scheduler_actions.h"
#include "client/transport/transport.h"
#include "records/base/mutex.h"

namespace penstock {

struct InboxEvent {
  enum class Kind : uint8_t {
    kHello,
    kWindowReady,
    kPart,
    kError,
    kCredit,
    kDraining,
    kBroken,
    kSlotReleased
  };
  Kind kind = Kind::kHello;
  StreamId stream = {};
  uint64_t number = 0;  // kWindowReady: window; kCredit: bytes; kSlotReleased: slot.
  ServerInfo info = {};
  ReceivedPart part = {};
  StreamError error = {};  // kError; kBroken: its status.
};

// Its size is bounded by what was asked for: a part by its request, a slot by its batch.
// Thread-safe.
class Inbox {
 public:
  void Post(InboxEvent event) {
    MutexLock lock(&mutex_);
    events_.push_back(std::move(event));
    changed_.NotifyOne();
  }
  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.NotifyOne();
  }

  // Waits for events, at most until `deadline` (steady clock), and swaps them into `events`, whose
  // memory it takes in exchange. False once closed.
  bool Take(absl::Time deadline, std::vector<InboxEvent>& events);

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<InboxEvent> events_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The steady clock as absl::Time, since an epoch of its own.
absl::Time SteadyNow();

// The events of one stream, posted with its identity.
class StreamPoster final : public StreamEvents {
 public:
  // `inbox` must outlive it.
  StreamPoster(Inbox& inbox, StreamId stream) : inbox_(inbox), stream_(stream) {}

  void OnHello(const ServerInfo& info) override;
  void OnWindowReady(uint64_t window, uint64_t read_bytes) override;
  void OnPart(ReceivedPart part) override;
  void OnError(StreamError error) override;
  void OnCredit(uint64_t bytes) override;
  void OnDraining(uint32_t grace_ms) override;
  void OnBroken(absl::Status status) override;

 private:
  InboxEvent Event(InboxEvent::Kind kind) const;

  Inbox& inbox_;
  const StreamId stream_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_INBOX_H_
