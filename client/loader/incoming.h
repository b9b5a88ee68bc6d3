// What reaches the driver from other threads.
#ifndef PENSTOCK_CLIENT_LOADER_INCOMING_H_
#define PENSTOCK_CLIENT_LOADER_INCOMING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/scheduler_actions.h"
#include "client/transport/transport.h"
#include "records/base/mutex.h"

namespace penstock {

struct IncomingWindowReady {
  uint64_t window = 0;
};
struct IncomingCredit {
  uint64_t bytes = 0;
};
struct IncomingDraining {
  absl::Duration grace;
};
struct IncomingSlotReleased {
  uint32_t slot = 0;
};
struct IncomingConsumerWaiting {
  uint64_t step = 0;
};
struct IncomingServers {
  std::vector<std::string> addresses;
};

// absl::Status: the stream is broken. `stream` means nothing for what is the consumer's.
struct Incoming {
  StreamId stream;
  std::variant<ServerInfo, IncomingWindowReady, ReceivedPart, StreamError, IncomingCredit,
               IncomingDraining, absl::Status, IncomingSlotReleased, IncomingConsumerWaiting,
               IncomingServers>
      what;
};

// Many threads push, one takes all at once. Not bounded by itself: the parts in it are bounded by
// the credit of their streams, released slots by the slots there are, waits by batches. Takes no
// memory once it has grown. Thread-safe.
class IncomingQueue {
 public:
  // Dropped once closed.
  void Push(Incoming incoming);
  // Waits until there is something or `deadline` (of SteadyNow()); `out` becomes what was pushed,
  // in order. False: closed.
  bool TakeAll(absl::Time deadline, std::vector<Incoming>& out);
  void Close();

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Incoming> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The steady clock, as time since an epoch of its own: the wall clock may jump.
absl::Time SteadyNow();

// Turns a stream's events into items of a queue, which must outlive it. Thread-safe.
class StreamListener final : public StreamEvents {
 public:
  StreamListener(StreamId stream, IncomingQueue& queue) : stream_(stream), queue_(queue) {}

  void OnHello(const ServerInfo& info) override { queue_.Push({stream_, info}); }
  void OnWindowReady(uint64_t window, uint64_t) override {
    queue_.Push({stream_, IncomingWindowReady{window}});
  }
  void OnPart(ReceivedPart part) override { queue_.Push({stream_, std::move(part)}); }
  void OnError(StreamError error) override { queue_.Push({stream_, std::move(error)}); }
  void OnCredit(uint64_t bytes) override { queue_.Push({stream_, IncomingCredit{bytes}}); }
  void OnDraining(uint32_t grace_ms) override {
    queue_.Push({stream_, IncomingDraining{absl::Milliseconds(grace_ms)}});
  }
  void OnBroken(absl::Status status) override { queue_.Push({stream_, std::move(status)}); }

 private:
  const StreamId stream_;
  IncomingQueue& queue_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_INCOMING_H_
