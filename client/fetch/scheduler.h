// Decides what to ask of which server, and when: the client's mind, without body.
#ifndef PENSTOCK_CLIENT_FETCH_SCHEDULER_H_
#define PENSTOCK_CLIENT_FETCH_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/range_pool.h"
#include "client/fetch/scheduler_actions.h"
#include "client/fetch/server_table.h"
#include "client/fetch/window_table.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "records/engine/messages.h"

namespace penstock {

struct SchedulerOptions {
  std::vector<std::string> servers = {};  // Addresses; may be none if OnServersChanged() follows.
  uint32_t num_slots = 2;                 // At least 2.
  uint64_t row_bytes = 1;                 // On the wire.
  uint64_t max_steps = 0;                 // 0: all of them.
  uint64_t fetch_bytes = 256 << 10;       // What a request asks for, at most, but for one row.
  // Asked for and not received, over all servers, each an equal part: what answers may take of the
  // client's memory beside the slots. A server may always have one request.
  uint64_t max_outstanding_bytes = 32 << 20;
  absl::Duration server_timeout = absl::Seconds(30);
  // A server with requests outstanding that says nothing for this long is taken for lost, and so is
  // one that leaves a request unanswered three times as long.
  absl::Duration silence_timeout = absl::Seconds(10);
  uint64_t seed = 0;  // Of the backoff's jitter.
};

// A state machine without threads, clock or sockets: what happens is told to it with the time, and
// it answers through SchedulerActions. Given the same events it does the same.
//
// Every row of a slot is in one state: wanted by its window, claimed by one request, or filled.
// Only the claimant's answer is copied, and when its stream dies the claim returns: so nothing is
// lost, repeated or torn. A slot is reused only after SlotReleased().
//
// Allocates nothing per batch once its tables have grown; a window or an epoch may allocate.
// Not thread-safe.
class FetchScheduler {
 public:
  // `plan` and `actions` must outlive it.
  FetchScheduler(const Plan& plan, const Steps& steps, SchedulerOptions options,
                 SchedulerActions& actions);

  // Begins; then to be called after events and when the time it returned has come.
  absl::Time Advance(absl::Time now);

  void OnHello(absl::Time now, StreamId stream, const ServerInfo& info);
  void OnWindowReady(absl::Time now, StreamId stream, uint64_t window);
  void OnCredit(absl::Time now, StreamId stream, uint64_t bytes);
  // The server ends after `grace`; zero: at any time.
  void OnDraining(absl::Time now, StreamId stream, absl::Duration grace = absl::ZeroDuration());
  void OnError(absl::Time now, StreamId stream, const StreamError& error);
  // The stream ended, or the caller will not read on from it. CloseStream() follows.
  void OnBroken(absl::Time now, StreamId stream, absl::Status status);
  // Where rows [first_row, first_row + rows) of an answer belong; empty: nowhere, drop them. The
  // caller copies them and calls OnPartCopied() before any other event. Valid until then.
  std::span<const RowCopy> OnPart(absl::Time now, StreamId stream, uint64_t request,
                                  uint32_t first_row, uint32_t rows);
  void OnPartCopied();
  // The set of servers, from now on. Those that are no longer in it finish what they were asked and
  // are left; an address that comes back has its old index. Addresses must differ.
  void OnServersChanged(absl::Time now, std::span<const std::string> addresses);
  // The consumer can go on only with this step (ReadyStep::index): it is fetched at once.
  void OnConsumerWaiting(absl::Time now, uint64_t step);
  // The consumer is done with a delivered slot.
  void OnSlotReleased(uint32_t slot);

  const ServerTable& servers() const { return servers_; }
  uint64_t lost_requests(uint32_t server) const { return lost_requests_[server]; }

 private:
  struct SlotEntry {
    ReadyStep ready;
    uint64_t rows_missing = 0;
  };

  // connections.cc
  void Connect(absl::Time now);
  void Lose(absl::Time now, uint32_t server, absl::Status status);
  void CloseStreamOf(uint32_t server);
  void CloseDrained();
  void CloseAll();
  void Drain(uint32_t server);
  void Place(absl::Time now);
  std::optional<uint32_t> ServerOf(const WindowEntry& window) const;
  void CheckTimeouts(absl::Time now);
  void CheckRequestAges(absl::Time now);
  absl::Time NextWake(absl::Time now) const;
  void Fail(absl::Status status);

  // walk.cc
  void Walk();
  void WalkStep(uint32_t slot);
  void WalkRange(const RowRange& range, SlotEntry& slot, uint32_t& slot_row);
  void Want(const WindowRun& run, const SlotEntry& slot, uint32_t slot_row);
  std::shared_ptr<const EpochOrder> OrderOf(uint64_t epoch);
  WindowEntry& WindowOf(const WindowRun& run);
  WindowEntry& NewWindow(WindowId id);
  void OpenAhead(LaneEntry& lane, const WindowRun& run);
  void WalkedPast(WindowEntry*& window);
  void ReleaseIfDone(WindowEntry& window);

  // pump.cc
  void Pump(absl::Time now);
  void OpenWindows(absl::Time now);
  void GiveUpOn(WindowEntry& window, StreamId stream);
  bool MayFetch(absl::Time now, const WindowEntry& window) const;
  bool FetchFrom(absl::Time now, WindowEntry& window);
  void ReturnClaims(RequestEntry& request);
  void EndRequest(RequestEntry& request);
  void DeliverReady();

  const Plan& plan_;
  const Steps steps_;
  const SchedulerOptions options_;
  const uint64_t num_steps_;
  const uint32_t fetch_rows_;
  // Beyond it the walk waits, so that any one server can hold all windows: EngineLimits.
  const size_t max_windows_;
  SchedulerActions& actions_;
  bool ended_ = false;
  bool closed_ = false;  // Ended, and every stream is closed.

  ServerTable servers_;
  std::vector<uint64_t> lost_requests_;    // Per server.
  std::optional<absl::Time> settle_by_;    // Set by the first Hello, until the lanes are placed.
  std::optional<absl::Time> alone_since_;  // No server has been steady since then.
  std::vector<uint32_t> lane_server_;      // Empty: not placed yet, or no server is up.
  uint64_t outstanding_limit_ = 0;         // Of each server; set when lanes are placed.

  std::map<uint64_t, std::weak_ptr<const EpochOrder>> orders_;
  std::shared_ptr<const EpochOrder> walked_order_;
  std::optional<EpochOrder::Walker> walker_;
  std::vector<LaneEntry> lanes_;
  NumberedTable<WindowEntry> windows_;
  NumberedTable<RequestEntry> requests_;
  RangePool ranges_;
  std::vector<WindowEntry*> candidates_;            // Scratch of Pump().
  bool pump_ = true;                                // Something changed that may allow a request.
  absl::Time retry_wake_ = absl::InfiniteFuture();  // A window waits until then.
  absl::Time next_age_check_ = absl::InfinitePast();
  bool open_windows_ = true;  // Some window may have no stream.

  std::vector<SlotEntry> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> slot_of_step_;  // By step % slots; of steps walked and not delivered.
  uint64_t next_step_ = 0;              // To be walked.
  uint64_t next_delivery_ = 0;
  uint64_t num_released_ = 0;
  uint64_t waited_for_ = 0;  // Steps before it are needed now.

  std::vector<RowCopy> copies_;  // Of the part between OnPart() and OnPartCopied().
  RequestEntry* copying_ = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SCHEDULER_H_
