// Runs the controller: gives it a thread, the clock, streams to servers, and slots to copy into.
#ifndef PENSTOCK_CLIENT_LOADER_DRIVER_H_
#define PENSTOCK_CLIENT_LOADER_DRIVER_H_

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/bounded_queue.h"
#include "base/mutex.h"
#include "base/span_sink.h"
#include "client/fetch/command_buffer.h"
#include "client/fetch/fetch_controller.h"
#include "client/loader/batch_slot.h"
#include "client/loader/incoming.h"
#include "client/loader/loader.h"
#include "client/loader/loader_counters.h"
#include "client/loader/slot_layout.h"
#include "client/loader/transports.h"
#include "client/loader/window_message.h"
#include "client/plan/plan.h"
#include "client/servers/server_source.h"
#include "client/transport/transport.h"

namespace penstock {

// Everything that a DriverJob refers to must outlive the driver.
struct DriverJob {
  const Manifest& manifest;
  const ShardPaths& shards;
  const Plan& plan;
  const SlotLayout& layout;
  WireDtype dtype;
  StreamOptions stream;
  std::function<void(absl::string_view)> report;  // May be null.
  // The transport of each server, indexed by server. When servers join, more are appended; this
  // needs `make_transport`.
  std::vector<std::unique_ptr<Transport>>& transports;
  TransportFactory make_transport = nullptr;
  SpanSink* spans = nullptr;
  bool check_views = false;
};

// Delivers filled slots, in the order of the steps, until the last step or an error.
//
// The threads that receive parts copy them or decode their rows while the bytes are still in a near
// cache. The same threads send the requests for which the parts make room. The driver's own thread
// does everything else. Thread-safe.
class Driver final : public SlotHome, private PartTaker {
 public:
  Driver(const DriverJob& job, const Steps& steps, FetchOptions options);
  // Ends a blocked Next(). REQUIRES: every slot was released. Otherwise the program aborts.
  ~Driver();

  // Starts the thread. `slots` must outlive the driver and have as many slots as the controller's
  // options say. The servers are those of the transports and, if `source` is not null, those that
  // it names later, for which the job needs a factory. kResourceExhausted: a thread could not be
  // started.
  absl::Status Start(SlotSet& slots, std::unique_ptr<ServerSource> source = nullptr);

  // Returns the next filled slot, or none after the last step. Blocks.
  absl::StatusOr<std::optional<uint32_t>> Next();
  // Like Next(). kDeadlineExceeded: no slot was ready within `timeout`.
  absl::StatusOr<std::optional<uint32_t>> Next(absl::Duration timeout);
  // Like Next(), for a caller whose consumer waits elsewhere and says so with NoteWaiting().
  absl::StatusOr<std::optional<uint32_t>> Take();
  void NoteWaiting(uint64_t step);
  // Whether Next() has a slot to hand out.
  bool ready() const { return !ready_.empty(); }
  // Closes the driver: Next() returns kCancelled from now on.
  void Close();
  // Does nothing in a child of fork(), whose queue may be locked for ever.
  void Release(uint32_t slot) override;

  LoaderStats stats() const;

 private:
  static constexpr uint32_t kNoSlot = std::numeric_limits<uint32_t>::max();
  struct Connection {
    Connection(StreamId id, IncomingQueue& queue, IncomingLimits limits, PartTaker* parts)
        : listener(id, queue, limits, parts), generation(id.generation) {}
    StreamListener listener;
    const uint32_t generation;
    // Last member, so that it is destroyed first. After that no event can come.
    std::unique_ptr<Stream> stream;
  };

  void Run();
  // Returns the time of the next look at the controller.
  absl::Time HandleAll(std::vector<Incoming>& incoming);
  // Does the part of HandleAll() that needs the lock, and returns the rest in the arguments.
  absl::Time Work(std::vector<Incoming>& incoming, std::vector<std::unique_ptr<Transport>>& unused,
                  std::vector<std::unique_ptr<Connection>>& closing,
                  std::vector<std::string>& reports);
  void Handle(absl::Time now, Incoming& incoming) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Hear(absl::Time now, StreamId id, StreamEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void NoteConnectionGivenUp(uint32_t server, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void HandleServers(absl::Time now, const ServerSet& servers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  // Handles an error as if the stream had reported it.
  void Break(StreamId id, absl::Status why);
  void TakePart(StreamId id, ReceivedPart part) override;
  void TakeRows(StreamId id, RowSource& rows) override;
  absl::Status CheckPart(StreamId id, const ReceivedPart& part);
  void EndWith(StreamId id, const absl::Status& undecodable);
  absl::Status CheckReplaced(const ReceivedPart& part) const;
  static absl::Status CheckImageNotes(const ReceivedPart& part);
  // Counts the replaced rows that were taken, and reports some of them.
  void NoteReplaced(std::span<const ReplacedRow> rows, std::span<const RowCopy> taken);
  // Returns where the rows of a part belong, and sends the requests that the part makes room for.
  std::vector<RowCopy> Claim(StreamId id, uint64_t request, uint32_t first_row, uint32_t rows);
  void FinishPart(std::vector<RowCopy> copies);
  void WakeIfDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  std::vector<std::unique_ptr<Transport>> TakeUnusedTransports()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void PublishReplaced() ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  // Returns the transport of a server, made when it is first needed.
  absl::StatusOr<Transport*> TransportOf(uint32_t server, const std::string& address);
  // Returns null if the stream has ended.
  Stream* StreamOf(StreamId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);

  // Carries out the controller's commands in order, by calling the functions below.
  void CarryOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  friend class CommandBuffer;  // CommandBuffer calls these functions.
  void OpenStream(StreamId id, const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void CloseStream(StreamId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void OpenWindow(StreamId id, const WindowRequest& window)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void ReleaseWindow(StreamId id, uint64_t window) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Fetch(StreamId id, const FetchRequest& fetch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Cancel(StreamId id, uint64_t request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Deliver(const ReadyStep& step);
  void Finish();
  void Fail(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  std::string NameChunks(std::span<const uint32_t> chunks) const;
  void Report(absl::string_view message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  // Calls job_.report with each of the messages. If it throws, the driver fails.
  void Tell(const std::vector<std::string>& messages);

  const DriverJob job_;
  const pid_t process_ = getpid();
  SlotSet* slots_ = nullptr;
  IncomingQueue incoming_;
  BoundedQueue<uint32_t> ready_;
  const IncomingLimits incoming_limits_;

  // No thread holds it while a stream ends, because the stream's events may wait for it.
  mutable Mutex work_mutex_;
  CommandBuffer commands_ ABSL_GUARDED_BY(work_mutex_);  // controller_ fills it at each event.
  FetchController controller_ ABSL_GUARDED_BY(work_mutex_);
  // Indexed by server; null if the server has no stream.
  std::vector<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(work_mutex_);
  std::vector<std::unique_ptr<Connection>> closing_ ABSL_GUARDED_BY(work_mutex_);
  std::vector<std::vector<RowCopy>> spare_copies_ ABSL_GUARDED_BY(work_mutex_);
  // Messages for job_.report, which is called without the lock because it may call stats().
  std::vector<std::string> reports_ ABSL_GUARDED_BY(work_mutex_);
  // The time at which the thread will next look at the controller without being woken.
  absl::Time wake_ ABSL_GUARDED_BY(work_mutex_) = absl::InfinitePast();
  // The value of ServerSet::problem in the last set.
  absl::Status servers_problem_ ABSL_GUARDED_BY(work_mutex_);
  // Number of the controller's replaced records that counters_ has.
  size_t num_replaced_ ABSL_GUARDED_BY(work_mutex_) = 0;
  // Number of further records that cannot be decoded and may be named before name_again_at_.
  uint32_t names_left_ ABSL_GUARDED_BY(work_mutex_) = 0;
  absl::Time name_again_at_ ABSL_GUARDED_BY(work_mutex_) = absl::InfinitePast();
  absl::Duration scheduling_ ABSL_GUARDED_BY(work_mutex_) = absl::ZeroDuration();

  LoaderCounters counters_;
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> held_{0};  // Slots that were handed out and not released.
  // With check_views, the slot that was released last. It is filled again after the next release.
  std::atomic<uint32_t> spoiled_{kNoSlot};
  std::atomic<bool> fetched_all_{false};
  uint64_t popped_ = 0;  // Batches that Next() and Take() handed out; only they use it.

  // Null if the set of servers is fixed. Declared after incoming_, which it fills.
  std::unique_ptr<ServerSource> source_;
  std::jthread thread_;  // Last member: it uses all of the above.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_DRIVER_H_
