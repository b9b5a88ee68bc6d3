// The Loader proper: one thread that feeds events to the scheduler and does what it asks.
#ifndef PENSTOCK_CLIENT_LOADER_LOADER_THREAD_H_
#define PENSTOCK_CLIENT_LOADER_LOADER_THREAD_H_

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "client/fetch/scheduler.h"
#include "client/loader/inbox.h"
#include "client/loader/loader.h"
#include "client/loader/row_layout.h"
#include "client/loader/slots.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "client/transport/transport.h"

namespace penstock {

// Loader::Open() with these servers instead of those of options.servers.
absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports);

// Thread-safe as Loader is.
class LoaderThread final : public Loader, private SchedulerActions, private SlotReturn {
 public:
  static absl::StatusOr<std::unique_ptr<Loader>> Start(
      LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports);
  ~LoaderThread() override;

  absl::StatusOr<bool> Next(Batch& batch) override;
  void Close() override;
  LoaderStats stats() const override;
  uint64_t order_fingerprint() const override { return plan_.fingerprint(); }
  uint64_t steps_per_epoch() const override { return steps_.steps_per_epoch(); }

 private:
  // Written by the thread, read by stats().
  struct ServerCounters {
    std::atomic<bool> connected = false;
    std::atomic<uint64_t> parts = 0, rows = 0, bytes = 0, windows = 0, in_flight = 0, lost = 0,
                          breaks = 0;
  };
  struct OpenStreamEntry {
    StreamId id;
    std::unique_ptr<StreamPoster> events;  // Before the stream, which uses it.
    std::unique_ptr<Stream> stream;
  };

  LoaderThread(LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports, Plan plan,
               Steps steps, const Program& program);
  uint32_t NumSlots() const;
  SchedulerOptions MakeSchedulerOptions() const;
  StreamOptions MakeStreamOptions() const;

  // On the thread:
  void Run();
  void Handle(absl::Time now, InboxEvent& event);
  void TakePart(absl::Time now, StreamId stream, ReceivedPart part);
  void PublishServers();
  OpenStreamEntry* Find(StreamId stream);
  void OpenStream(StreamId stream) override;
  void CloseStream(StreamId stream) override;
  void OpenWindow(StreamId stream, const WindowRequest& window) override;
  void ReleaseWindow(StreamId stream, uint64_t window) override;
  void Fetch(StreamId stream, const FetchRequest& fetch) override;
  void Deliver(const ReadyStep& step) override;
  void Finish() override;
  void Fail(absl::Status status) override;

  // From the consumer's thread:
  void ReturnSlot(uint32_t slot) override;

  const LoaderOptions options_;
  const std::vector<std::unique_ptr<Transport>> transports_;
  const Plan plan_;
  const Steps steps_;
  const RowLayout layout_;
  const StreamOptions stream_options_;
  std::unique_ptr<Slots> slots_;
  std::deque<ServerCounters> counters_;  // Per server.
  Inbox inbox_;

  // Of the thread alone.
  std::unique_ptr<FetchScheduler> scheduler_;
  std::vector<OpenStreamEntry> streams_;

  mutable Mutex mutex_;
  CondVar ready_changed_;
  // Slots in the order of their steps, a ring of slots_->size().
  std::vector<uint32_t> ready_ ABSL_GUARDED_BY(mutex_);
  size_t ready_head_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t ready_size_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  uint64_t batches_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration wait_ ABSL_GUARDED_BY(mutex_);

  std::jthread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_THREAD_H_
