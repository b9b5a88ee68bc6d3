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

struct IncomingSlotReleased {
  uint32_t slot = 0;
};
struct IncomingConsumerWaiting {
  uint64_t step = 0;
};
// The controller wants to be looked at sooner than it said.
struct IncomingDue {};

// `stream` means nothing for what is the consumer's or the source's.
struct Incoming {
  StreamId stream;
  std::variant<StreamEvent, ReceivedPart, IncomingSlotReleased, IncomingConsumerWaiting, ServerSet,
               IncomingDue>
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

  void OnEvent(StreamEvent event) override;
  void OnPart(ReceivedPart part) override;
  bool DecodesRows() const override { return parts_ != nullptr; }
  void OnRows(RowSource& rows) override { parts_->TakeRows(stream_, rows); }

 private:
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
