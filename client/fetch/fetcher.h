// Fetches windows: requests their rows and keeps the requests.
#ifndef PENSTOCK_CLIENT_FETCH_FETCHER_H_
#define PENSTOCK_CLIENT_FETCH_FETCHER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/damage_judge.h"
#include "client/fetch/extra_loads.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/indexed_heap.h"
#include "client/fetch/lane_map.h"
#include "client/fetch/lateness.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/process_clock.h"
#include "client/fetch/request_book.h"
#include "client/fetch/server_table.h"
#include "client/fetch/slot_queue.h"
#include "client/fetch/suspects.h"
#include "client/fetch/window_table.h"
#include "client/plan/epoch_order.h"

namespace penstock {

struct FetchLimits {
  uint32_t rows = 1;  // Maximum number of rows of a request.
  uint64_t row_bytes = 1;
  uint64_t max_outstanding_bytes = 0;
  uint32_t max_open_windows = 0;
  absl::Duration silence_timeout;
};

// The parts that a Fetcher uses. All of them must outlive it.
struct FetchParts {
  const ProcessClock& clock;
  const SlotQueue& slots;
  ServerTable& servers;
  const LaneMap& placement;
  const Lateness& lateness;
  Suspects& suspects;
  const DamageJudge& damage;
  FetchActions& actions;
};

// Opens windows on the servers that they belong to, requests the rows that are wanted, and takes
// windows back. It is told which rows are wanted, which streams are lost, and which windows servers
// could not give. Pump() then sends what there is room for.
//
// Every row is in one place: wanted by its window, or claimed by one request. Only this part moves
// windows or changes which of their rows are wanted. It never decides whether a server is up, late
// or believed.
//
// Each window waits in at most one queue: for a time, a server, room on its stream, or more rows.
// An event costs O(log windows) for each window that it moves on. Not thread-safe.
class Fetcher {
 public:
  Fetcher(const FetchParts& parts, const FetchLimits& limits);

  // Adds a window. The walk along the plan calls this and the functions below. `bytes` is the size
  // of the window's chunks, and `start` is about when its first row is needed.
  WindowEntry& NewWindow(WindowId id, std::shared_ptr<const EpochOrder> order, uint64_t bytes,
                         uint64_t start);
  void Want(WindowEntry& window, const Range& range);
  // Notes that no further row of the window will be wanted. The window may be gone afterwards.
  void WalkedPast(WindowEntry& window);
  size_t num_windows() const { return windows_.live(); }

  // Sends the requests that there is room for. Call it after events.
  void Pump();
  // The time of the first window that waits for a time. Call Pump() then to move it on.
  absl::Time NextPump() const;
  void MarkForPump(ServerEntry& server);

  WindowEntry* FindWindow(uint64_t number) { return windows_.Find(number); }
  RequestEntry* FindRequest(uint64_t number, StreamId stream) {
    return requests_.Find(number, stream);
  }
  // Ends a request; its window may be gone afterwards.
  void EndRequest(RequestEntry& request);

  // Call this when lanes were placed anew. Windows follow as far as extra loads allow.
  void FollowPlacement();
  // Handles the loss of the server's stream: rows in flight are wanted again, at once and from
  // other servers. `broken` says that the stream broke by itself.
  void LoseWindowsOf(ServerEntry& server, bool broken);
  // Handles a server that drains: it finishes its outstanding requests, and all other rows are
  // requested elsewhere.
  void LeaveWindowsOf(ServerEntry& server);
  // Handles a silent server: its windows are taken away as if it were lost. Its stream stays open,
  // because the server may only have been stopped.
  void TakeAll(ServerEntry& server);
  // Takes the window from a server that was late with it.
  void TakeLate(ServerEntry& server, WindowEntry& window);
  // Handles a window that the server could not give: the rows requested from it are wanted again.
  void GiveUpOn(WindowEntry& window, StreamId stream);
  // Makes the window avoid this server. Returns true if every server has had its turn. Then the
  // turns begin anew.
  bool AskAnother(const ServerEntry& server, WindowEntry& window);
  // Counts that the server could not give the window, for a reason that may pass.
  void CountFailure(ServerEntry& server, WindowEntry& window);
  // Tries the next spare of a window without a good record. Returns an error if no chunk is left.
  absl::Status TakeNextSpare(WindowEntry& window, StreamId stream, const absl::Status& status);
  // Handles a server without memory for the rows of the request's window. Returns true if these
  // rows wait until other windows are read.
  bool WaitsForMemory(const ServerEntry& server, const RequestEntry& refused);

  // Asks a slow server for rows that another server is also asked for. The rows are dropped when
  // they come. Returns null if no window fits.
  const RequestEntry* Probe(ServerEntry& server);
  void CancelProbe(ServerEntry& server);

 private:
  bool WorthARequest(const WindowEntry& window) const;
  void Requeue(WindowEntry& window);
  void OpenOn(ServerEntry& server, WindowEntry& window);
  bool MakeRoomFor(ServerEntry& server, const WindowEntry& window);
  void CancelOn(ServerEntry& server, WindowEntry& window);
  void TakeAway(WindowEntry& window);
  void ReleaseIfDone(WindowEntry& window);
  bool HandOver(WindowEntry& window, bool charge, double reserve = 0);
  void OccupyNew();

  void PumpServer(ServerEntry& server);
  void FetchFrom(ServerEntry& server, WindowEntry& window, uint32_t max_rows);
  void Link(ServerEntry& server, RequestEntry& request);
  void ReturnClaims(RequestEntry& request, bool broken);

  void PumpSuspects();
  void PumpSuspect(WindowEntry& window);
  void Isolate(ServerEntry& server);
  void EndQuarantine();

  const FetchLimits limits_;
  const ProcessClock& clock_;
  const SlotQueue& slots_;
  ServerTable& servers_;
  const LaneMap& placement_;
  const Lateness& lateness_;
  Suspects& suspects_;
  const DamageJudge& damage_;
  FetchActions& actions_;
  ExtraLoads extra_loads_;
  NumberedTable<WindowEntry> windows_;
  RequestBook requests_;
  IndexedHeap<WindowEntry> delayed_;  // Windows that wait until retry_at.
  // Open windows that are not yet worth a request, ordered by need.
  IndexedHeap<WindowEntry> waiting_;
  std::vector<ServerEntry*> to_pump_;  // Servers that may have room for a request.
  // The earliest time of the next report about a first spare.
  absl::Time report_first_spare_at_ = absl::InfinitePast();
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_FETCHER_H_
