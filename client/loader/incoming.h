// What reaches the driver from other threads.
#ifndef PENSTOCK_CLIENT_LOADER_INCOMING_H_
#define PENSTOCK_CLIENT_LOADER_INCOMING_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/fetch/fetch_actions.h"
#include "client/servers/server_source.h"
#include "client/transport/transport.h"

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
// OK: parts come through it.
struct IncomingSharedMemory {
  absl::Status status;
};
struct IncomingConnectionGivenUp {
  absl::Status why;
};
struct IncomingSlotReleased {
  uint32_t slot = 0;
};
struct IncomingConsumerWaiting {
  uint64_t step = 0;
};
// The controller wants to be looked at sooner than it said.
struct IncomingDue {};

// absl::Status: the stream is broken. `stream` means nothing for what is the consumer's.
struct Incoming {
  StreamId stream;
  std::variant<ServerInfo, IncomingWindowReady, ReceivedPart, StreamError, IncomingCredit,
               IncomingDraining, absl::Status, IncomingSharedMemory, IncomingConnectionGivenUp,
               IncomingSlotReleased, IncomingConsumerWaiting, ServerSet, IncomingDue>
      what;
};

// Many threads push, one takes all at once. Not bounded by itself: what a server says is bounded by
// its StreamListener, released slots by the slots there are, waits by batches, sets by their
// source. Takes no memory once it has grown. Thread-safe.
class IncomingQueue {
 public:
  // Dropped once closed.
  void Push(Incoming incoming);
  // Waits until there is something or `deadline` (of SteadyNow()); `out` becomes what was pushed,
  // in order. False: closed.
  bool TakeAll(absl::Time deadline, std::vector<Incoming>& out);
  void Close();
  // How often TakeAll() has emptied it.
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::atomic<uint64_t> rounds_{0};
  std::vector<Incoming> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The steady clock, as time since an epoch of its own: the wall clock may jump.
absl::Time SteadyNow();

// Of one stream, between two looks at the queue: more than any server that answers what it was
// asked can say.
struct IncomingLimits {
  uint64_t messages = 0;
  uint64_t bytes = 0;  // Of parts that are queued, and of errors' texts.
};

// Takes parts on the threads that bring them. Thread-safe.
class PartTaker {
 public:
  virtual void TakePart(StreamId stream, ReceivedPart part) = 0;
  virtual void TakeRows(StreamId stream, RowSource& rows) = 0;

 protected:
  ~PartTaker() = default;
};

// Turns a stream's events into items of a queue, but for parts if there is somebody to take them;
// both must outlive it. A server that says more than `limits` is heard no longer: its stream counts
// as broken. Thread-safe.
class StreamListener final : public StreamEvents {
 public:
  StreamListener(StreamId stream, IncomingQueue& queue, IncomingLimits limits,
                 PartTaker* parts = nullptr)
      : stream_(stream), queue_(queue), limits_(limits), parts_(parts) {}

  void OnHello(const ServerInfo& info) override { Push(0, info); }
  void OnWindowReady(uint64_t window, uint64_t) override { Push(0, IncomingWindowReady{window}); }
  void OnPart(ReceivedPart part) override;
  bool DecodesRows() const override { return parts_ != nullptr; }
  void OnRows(RowSource& rows) override { parts_->TakeRows(stream_, rows); }
  void OnError(StreamError error) override;
  void OnCredit(uint64_t bytes) override { Push(0, IncomingCredit{bytes}); }
  void OnDraining(uint32_t grace_ms) override {
    Push(0, IncomingDraining{absl::Milliseconds(grace_ms)});
  }
  // At most once a stream, maybe beside another event: not counted.
  void OnSharedMemory(absl::Status status) override {
    queue_.Push({stream_, IncomingSharedMemory{std::move(status)}});
  }
  // One for each further connection at most.
  void OnConnectionGivenUp(absl::Status why) override {
    queue_.Push({stream_, IncomingConnectionGivenUp{std::move(why)}});
  }
  void OnBroken(absl::Status status) override { Push(0, std::move(status)); }

 private:
  template <typename What>
  void Push(uint64_t bytes, What&& what) {
    if (Count(bytes)) queue_.Push({stream_, std::forward<What>(what)});
  }
  // False: it is not heard.
  bool Count(uint64_t bytes);

  const StreamId stream_;
  IncomingQueue& queue_;
  const IncomingLimits limits_;
  PartTaker* const parts_;
  Mutex mutex_;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  IncomingLimits said_ ABSL_GUARDED_BY(mutex_);  // In this round.
  bool too_much_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_INCOMING_H_
