// The queue of everything that reaches the driver from other threads.
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
// Tells the driver that the controller has work earlier than it announced.
struct IncomingDue {};

// `stream` has no meaning for items from the consumer or the source.
struct Incoming {
  StreamId stream;
  std::variant<StreamEvent, ReceivedPart, IncomingSlotReleased, IncomingConsumerWaiting, ServerSet,
               IncomingDue>
      what;
};

// Many threads push; one thread takes everything at once. The queue itself is not bounded, but its
// contents are: a server's messages by its StreamListener, released slots by the number of slots,
// waits by the number of batches, sets by their source. Allocates nothing once it has grown.
// Thread-safe.
class IncomingQueue {
 public:
  // Drops `incoming` if the queue is closed.
  void Push(Incoming incoming);
  // Waits until there is an item, or until `deadline` (of SteadyNow()). Sets `out` to the pushed
  // items, in order. Returns false if the queue is closed.
  bool TakeAll(absl::Time deadline, std::vector<Incoming>& out);
  void Close();
  // Number of times that TakeAll() has emptied it.
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::atomic<uint64_t> rounds_{0};
  std::vector<Incoming> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The steady clock, as time since an epoch of its own. The wall clock may jump.
absl::Time SteadyNow();

// Limits for one stream between two calls of TakeAll(). A server that only answers requests never
// reaches them.
struct IncomingLimits {
  uint64_t messages = 0;
  uint64_t bytes = 0;  // Bytes of queued parts and of the texts of errors.
};

// Takes parts on the threads that receive them. Thread-safe.
class PartTaker {
 public:
  virtual void TakePart(StreamId stream, ReceivedPart part) = 0;
  virtual void TakeRows(StreamId stream, RowSource& rows) = 0;

 protected:
  ~PartTaker() = default;
};

// Turns a stream's events into items of a queue. If `parts` is not null, parts go there instead.
// Both must outlive the listener. If a server sends more than `limits`, the listener ignores the
// rest and reports the stream as broken. Thread-safe.
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
  // Returns false if the message is to be ignored.
  bool Count(uint64_t bytes);

  const StreamId stream_;
  IncomingQueue& queue_;
  const IncomingLimits limits_;
  PartTaker* const parts_;
  Mutex mutex_;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  IncomingLimits said_ ABSL_GUARDED_BY(mutex_);  // Counts since the last round.
  bool too_much_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_INCOMING_H_
