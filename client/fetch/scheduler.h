// Decides what to ask of which server, and when: the client's mind, without body.
#ifndef PENSTOCK_CLIENT_FETCH_SCHEDULER_H_
#define PENSTOCK_CLIENT_FETCH_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/answer_times.h"
#include "client/fetch/indexed_heap.h"
#include "client/fetch/numbered_table.h"
#include "client/fetch/on_error.h"
#include "client/fetch/placement.h"
#include "client/fetch/scheduler_actions.h"
#include "client/fetch/server_table.h"
#include "client/fetch/token_bucket.h"
#include "client/fetch/window_table.h"
#include "client/plan/epoch_order.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "records/engine/messages.h"

namespace penstock {

struct SchedulerOptions {
  // Addresses; may be none if OnServersChanged() follows.
  std::vector<std::string> servers = {};
  uint32_t num_slots = 2;             // At least 2.
  uint64_t row_bytes = 1;             // On the wire.
  uint64_t max_steps = 0;             // 0: all of them.
  uint64_t fetch_bytes = 1000 << 10;  // What a request asks for, at most, but for one row.
  // Asked for and not received, over all servers, each an equal part: what answers may take of the
  // client's memory beside the slots. A server may always have one request.
  uint64_t max_outstanding_bytes = 32 << 20;
  // Open on one stream, of those that are needed first. A server allows 1,024.
  uint32_t max_open_windows = 960;
  absl::Duration server_timeout = absl::Seconds(30);
  // A server with requests outstanding that says nothing for this long is taken for lost, and so is
  // one that leaves a request unanswered three times as long.
  absl::Duration silence_timeout = absl::Seconds(10);
  OnError on_error = OnError::kFail;
  uint64_t seed = 0;  // Of the backoff's jitter.
  // What damage is called; null: DamageName().
  std::function<std::string(const Damage&)> damage_name = nullptr;
};

// "a.tfrecord: chunk at offset 65536, record 3": the record's number in the chunk, from 0 on.
std::string DamageName(const Damage& damage);

// A state machine without threads, clock or sockets: what happens is told to it with the time, and
// it answers through SchedulerActions. Given the same events it does the same.
//
// Every row of a slot is in one state: wanted by its window, claimed by one request, being copied,
// or filled. Only the claimant's answer is copied, and the claim returns when its stream dies, or
// when the request was late and is cancelled: so nothing is lost, repeated or torn. A slot is
// delivered when all its rows are filled and reused only after SlotReleased().
//
// Each window waits in at most one queue, for a time, a server, room on its stream or more rows;
// an event costs O(log windows) for each window that it moves on. Allocates nothing per batch once
// its tables have grown; a window or an epoch may allocate. Not thread-safe.
class FetchScheduler {
 public:
  // `plan` and `actions` must outlive it.
  FetchScheduler(const Plan& plan, const Steps& steps, SchedulerOptions options,
                 SchedulerActions& actions);

  // Begins; then to be called after events and when the time it returned has come.
  absl::Time Advance(absl::Time now);
  // All that Advance() has to do after a part, if NextAdvance() is then still in the future: asks
  // for more where the part made room.
  void AskForMore(absl::Time now);
  // When Advance() has to be called.
  absl::Time NextAdvance() const;

  void OnHello(absl::Time now, StreamId stream, const ServerInfo& info);
  void OnWindowReady(absl::Time now, StreamId stream, uint64_t window);
  void OnCredit(absl::Time now, StreamId stream, uint64_t bytes);
  // The server ends after `grace`; zero: at any time.
  void OnDraining(absl::Time now, StreamId stream, absl::Duration grace = absl::ZeroDuration());
  void OnError(absl::Time now, StreamId stream, const StreamError& error);
  // The stream ended, or the caller will not read on from it. CloseStream() follows.
  void OnBroken(absl::Time now, StreamId stream, absl::Status status);
  // Where rows [first_row, first_row + rows) of an answer belong; empty: nowhere, drop them. They
  // are the caller's to copy, whatever happens meanwhile, and then to report with OnPartCopied().
  // Valid until the next event.
  std::span<const RowCopy> OnPart(absl::Time now, StreamId stream, uint64_t request,
                                  uint32_t first_row, uint32_t rows);
  void OnPartCopied(std::span<const RowCopy> copies);
  // The set of servers, from now on. Those that are no longer in it finish what they were asked and
  // are left; an address that comes back has its old index. Addresses must differ. `all_known`:
  // no name or file of servers is still to be read.
  void OnServersChanged(absl::Time now, std::span<const std::string> addresses,
                        bool all_known = true);
  // The consumer can go on only with this step (ReadyStep::index): it is fetched at once.
  void OnConsumerWaiting(absl::Time now, uint64_t step);
  // The consumer is done with a delivered slot.
  void OnSlotReleased(uint32_t slot);

  const ServerTable& servers() const { return servers_; }
  uint64_t lost_requests(uint32_t server) const { return servers_[server].counted.lost_requests; }
  // Records that another one stands for, in the order in which servers agreed on them.
  std::span<const Damage> replaced() const { return agreed_; }

 private:
  struct SlotEntry {
    ReadyStep ready;
    uint64_t rows_missing = 0;
  };

  void SetNow(absl::Time now);

  // connections.cc
  absl::Time NextCheck() const;
  void Arm(ServerEntry& server, absl::Time time);
  void FireTimers();
  absl::Time CheckServer(ServerEntry& server);
  absl::Time CheckUp(ServerEntry& server);
  void Connect(ServerEntry& server);
  // `silent`: its stream did not break, it is given up.
  void Lose(ServerEntry& server, absl::Status status, bool silent = false);
  void Refuse(ServerEntry& server);
  // A person is told once of a server that stays away, and when it is back.
  void NoteAway(ServerEntry& server);
  void NoteBack(ServerEntry& server);
  void Remove(ServerEntry& server);
  void LoseWindowsOf(ServerEntry& server, bool broken);
  void CloseStreamOf(const ServerEntry& server);
  void Drain(ServerEntry& server);
  void CloseDrained();
  void CloseAll();
  void CheckAlone();
  bool OthersMayCome() const;
  void Fail(absl::Status status);

  // placing.cc
  void PlaceBy(absl::Time time);
  void Place();
  void FollowPlacement();
  void OccupyNew();
  uint32_t PlaceOf(const WindowEntry& window) const;
  std::optional<uint32_t> ServerOf(const WindowEntry& window) const;
  bool Avoids(const WindowEntry& window, uint32_t server, bool all_addresses) const;

  // late.cc
  absl::Duration AnswerLimit(uint32_t rows) const;
  absl::Duration LoadLimit(uint32_t rows) const;
  absl::Time CheckLate(ServerEntry& server);
  uint64_t StepOf(const RequestEntry& request) const;
  absl::Time DueBy(const RequestEntry& request) const;
  absl::Time DueBy(const RequestEntry& request, absl::Duration limit) const;
  absl::Time SinceWhen(const RequestEntry& request) const;
  absl::Time LateAt(const RequestEntry& request) const;
  bool LeavesSoonerRowsUnasked(const ServerEntry& server) const;
  bool OthersKeepItWaitingToo(const RequestEntry& request);
  void CollectAges(const ServerEntry& late);
  void LeaveOutSilent();
  void Avoid(WindowEntry& window, const ServerEntry& server);
  bool IsSilent(const ServerEntry& server) const;
  bool MayBeSlow(const ServerEntry& server) const;
  void TakeLateWindows(ServerEntry& server);
  bool HandOver(WindowEntry& window, bool charge, double reserve = 0);
  void TakeAll(ServerEntry& server);
  void CountAnswer(const RequestEntry& request);

  // probe.cc
  void MarkSlow(ServerEntry& server);
  void Penalise(ServerEntry& server);
  absl::Time CheckSlow(ServerEntry& server);
  absl::Time ProbeDueBy(const RequestEntry& probe) const;
  void Probe(ServerEntry& server, const WindowEntry& like);
  const WindowEntry* WindowToProbe(const ServerEntry& server);
  bool IsForgiven(const ServerEntry& server) const;
  void Trust(ServerEntry& server);
  void FailProbe(ServerEntry& server);
  void CancelProbe(ServerEntry& server);
  void DropProbe(ServerEntry& server);

  // walk.cc
  void Walk();
  void WalkStep(uint32_t slot);
  void WalkRange(const RowRange& range, SlotEntry& slot, uint32_t& slot_row);
  void Want(const WindowRun& run, const SlotEntry& slot, uint32_t slot_row);
  std::shared_ptr<const EpochOrder> OrderOf(uint64_t epoch);
  WindowEntry& WindowOf(const WindowRun& run);
  WindowEntry& NewWindow(WindowId id, uint64_t start);
  void OpenAhead(LaneEntry& lane, const WindowRun& run);
  void WalkedPast(WindowEntry*& window);

  // windows.cc
  uint64_t NeededAt(const WindowEntry& window) const;
  uint64_t Soon() const;
  bool WorthARequest(const WindowEntry& window) const;
  void Requeue(WindowEntry& window);
  void OpenOn(ServerEntry& server, WindowEntry& window);
  void EarnExtraLoads(const WindowEntry& window);
  bool MakeRoomFor(ServerEntry& server, const WindowEntry& window);
  std::pair<bool, uint64_t> IdleOrder(const WindowEntry& window) const;
  void NoteIdle(const WindowEntry& window);
  void CancelOn(ServerEntry& server, WindowEntry& window);
  void TakeAway(WindowEntry& window);
  void ReleaseIfDone(WindowEntry& window);

  // pump.cc
  void MarkForPump(ServerEntry& server);
  void Pump();
  void PumpServer(ServerEntry& server);
  bool HasRoom(const ServerEntry& server, const WindowEntry& window) const;
  void FetchFrom(ServerEntry& server, WindowEntry& window, uint32_t max_rows);
  RequestEntry& NewRequest(WindowEntry& window, uint32_t rows);
  void Link(ServerEntry& server, RequestEntry& request);
  void ReturnClaims(RequestEntry& request, bool broken);
  void EndRequest(RequestEntry& request);
  void DeliverReady();

  // memory.cc
  void NoteStarved(ServerEntry& server);
  bool WaitsForMemory(const ServerEntry& server, const RequestEntry& refused);
  bool ReadsBefore(const ServerEntry& server, const RequestEntry& refused);
  WindowEntry* LastReadAhead(const ServerEntry& server, const WindowEntry& window);

  // trouble.cc
  void ReportFailure(const ServerEntry& server, const absl::Status& status);
  void CountFailure(ServerEntry& server, WindowEntry& window);
  bool AskAnother(const ServerEntry& server, WindowEntry& window);
  bool FailedForGood(const ServerEntry& server, const WindowEntry& window,
                     absl::StatusCode code) const;
  void GiveUpOn(WindowEntry& window, StreamId stream);
  void OnDamage(ServerEntry& server, WindowEntry& window, const StreamError& error);
  void TakeNextSpare(WindowEntry& window, StreamId stream, const absl::Status& status);
  bool AwaitsSecondOpinion(const ServerEntry& server, const WindowEntry& window,
                           const Damage& damage) const;
  bool NoOtherCanBeAsked(const ServerEntry& server, const WindowEntry& window) const;
  bool AnotherMayCome(const ServerEntry& server) const;
  void Agree(const DamageDoubt& doubt, const ServerEntry& second, WindowEntry& window);
  std::string NameOf(const Damage& damage) const;
  bool IsAgreed(const Damage& damage) const;
  void ReportDoubts(const WindowEntry& window);

  // quarantine.cc
  void PumpSuspects();
  void NoteSuspect(const WindowEntry& window);
  void PumpSuspect(WindowEntry& window);
  void Isolate(ServerEntry& server);
  void LetGo(ServerEntry& server);
  void EndQuarantine();
  bool IsStillSuspect(const WindowEntry& window) const;
  void CountBreak();
  bool ProvesDeadly(WindowEntry& window);
  bool LoadsSuspect(const ServerEntry& server) const;
  void LoseSuspect(const ServerEntry& server, const absl::Status& status, bool silent);
  void Accuse(const ServerEntry& server, const absl::Status& status);
  bool IsAccusing(const ServerEntry& server) const;
  void HearNothing();
  void Confirm();
  void Withdraw();
  absl::Status DeathOf(const ServerEntry& server, const absl::Status& status) const;

  const Plan& plan_;
  const Steps steps_;
  const SchedulerOptions options_;
  const uint64_t num_steps_;
  const uint32_t fetch_rows_;
  SchedulerActions& actions_;
  bool ended_ = false;
  bool closed_ = false;                              // Ended, and every stream is closed.
  absl::Time now_ = absl::InfinitePast();            // Of the last event, less stood_still_.
  absl::Time expected_by_ = absl::InfiniteFuture();  // When Advance() wanted to be called.
  absl::Duration stood_still_;                       // It was called so much later, in all.
  absl::Time resumed_at_ = absl::InfinitePast();     // The last time that it was.

  ServerTable servers_;
  IndexedHeap<ServerEntry> timers_;
  std::vector<ServerEntry*> draining_;
  bool set_changes_ = false;                             // OnServersChanged() was called.
  bool all_known_ = true;                                // As it said.
  std::optional<absl::Time> alone_since_;                // No server has been usable since then.
  absl::Time report_failure_at_ = absl::InfinitePast();  // Not before.

  LanePlacement placement_;
  std::vector<uint32_t> placed_servers_;          // By index in the placement.
  std::vector<uint32_t> lane_server_;             // Empty: not placed yet, or no server is up.
  absl::Time place_at_ = absl::InfiniteFuture();  // When to place anew.
  std::optional<absl::Time> settle_by_;           // Set by the first Hello.
  bool placed_once_ = false;
  uint64_t outstanding_limit_ = 0;  // Of each server; set when lanes are placed.
  uint64_t outstanding_bytes_ = 0;  // Of all servers.

  std::vector<absl::Duration> ages_;  // Scratch.
  AnswerTimes answers_;               // From when it could be answered to its last part.
  AnswerTimes loads_;                 // From OpenWindow to WindowReady.
  TokenBucket extra_loads_;
  std::vector<bool> lane_in_use_;  // By this rank; by PlaceOf().

  std::map<uint64_t, std::weak_ptr<const EpochOrder>> orders_;
  std::shared_ptr<const EpochOrder> walked_order_;
  std::optional<EpochOrder::Walker> walker_;
  std::vector<LaneEntry> lanes_;
  NumberedTable<WindowEntry> windows_;
  NumberedTable<RequestEntry> requests_;
  IndexedHeap<WindowEntry> delayed_;   // Until retry_at.
  IndexedHeap<WindowEntry> waiting_;   // Opened, but not yet worth a request; by need.
  IndexedHeap<WindowEntry> suspects_;  // By need.
  std::deque<absl::Time> breaks_;      // Of streams that were up, lately.
  absl::Time tell_suspects_at_ = absl::InfinitePast();
  // That a window kills servers: to be seen by whether this one comes back as another process.
  struct Accusation {
    uint32_t server;
    WindowEntry* window;
    absl::Time since;
    absl::Status death;  // What the job then ends with.
  };
  std::optional<Accusation> accusation_;
  WindowEntry* quarantined_ = nullptr;
  ServerEntry* quarantine_ = nullptr;       // The server that is kept free for it.
  std::vector<ServerEntry*> to_pump_;       // Something changed that may allow a request.
  std::vector<WindowEntry*> late_windows_;  // Scratch.
  std::vector<Damage> agreed_;

  std::vector<SlotEntry> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> slot_of_step_;  // By step % slots; of steps walked and not delivered.
  uint64_t next_step_ = 0;              // To be walked.
  uint64_t next_delivery_ = 0;
  uint64_t num_released_ = 0;
  uint64_t waited_for_ = 0;  // Steps before it are needed now.

  std::vector<RowCopy> copies_;  // What OnPart() returned.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_SCHEDULER_H_
