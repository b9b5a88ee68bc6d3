// Fetch policy: decides which rows to request from which server, and when. Performs no I/O.
#ifndef PENSTOCK_CLIENT_FETCH_FETCH_CONTROLLER_H_
#define PENSTOCK_CLIENT_FETCH_FETCH_CONTROLLER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/connections.h"
#include "client/fetch/damage_judge.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/fetcher.h"
#include "client/fetch/lane_map.h"
#include "client/fetch/lateness.h"
#include "client/fetch/on_error.h"
#include "client/fetch/plan_walker.h"
#include "client/fetch/process_clock.h"
#include "client/fetch/server_table.h"
#include "client/fetch/slot_queue.h"
#include "client/fetch/suspects.h"
#include "client/fetch/window_table.h"
#include "client/plan/plan.h"
#include "client/plan/steps.h"
#include "records/engine/messages.h"

namespace penstock {

struct FetchOptions {
  // Addresses; may be empty if OnServersChanged() follows.
  std::vector<std::string> servers = {};
  uint32_t num_slots = 2;  // At least 2.
  uint64_t row_bytes = 1;  // Bytes of a row on the wire.
  uint64_t max_steps = 0;  // 0 means no limit.
  // Maximum number of bytes that one request asks for. A single larger row is allowed.
  uint64_t fetch_bytes = 1000 << 10;
  // Maximum number of bytes that may be requested and not yet received, summed over all servers,
  // which get equal parts. Answers take at most this much of the client's memory in addition to the
  // slots. A server may always have one request.
  uint64_t max_outstanding_bytes = 32 << 20;
  // Maximum number of windows open on one stream. Those needed first are opened. A server allows
  // 1,024.
  uint32_t max_open_windows = 960;
  // The job ends when no server was usable for this long.
  absl::Duration server_timeout = absl::Seconds(30);
  // A server with outstanding requests that sends nothing for this long counts as lost. So does one
  // that leaves a request unanswered three times as long.
  absl::Duration silence_timeout = absl::Seconds(10);
  OnError on_error = OnError::kFail;
  // The name of the decode spec, for errors about records that contradict it. If it is empty, these
  // errors do not name the spec.
  std::string spec_name = {};
  // Whether undamaged records may be impossible to decode. If so, a window may have no good row
  // although none is damaged.
  bool fallible_rows = false;
  uint64_t seed = 0;  // Seeds the jitter of the backoff.
  // Names damage in messages. If it is null, DamageName() does.
  DamageJudge::Name damage_name = nullptr;
  // Finds the chunk of a damaged record. May be null; then every damage report may be true.
  DamageJudge::Find find_damage = nullptr;
};

// A state machine without threads, clock or sockets. It is told what happens and when, and answers
// through FetchActions. The same events give the same commands.
//
// It only routes events. The parts below decide, and each has its own state:
//   Connections   who is up: connects, drains, refuses, and reports who stays away
//   ServerTable   the state of each server, and when to look at it
//   Lateness      what is late: limits for answers and loads, slow servers and their penalties
//   LaneMap       where lanes are placed: which server a window belongs to
//   DamageJudge   what is damaged: which server is believed
//   Suspects      what is deadly: windows that are requested alone
//   SlotQueue     which step fills which slot, and which is delivered next
//   Fetcher       what is fetched: windows, their rows, and requests; only it moves windows
//   PlanWalker    which rows the next steps want
//
// Every row of a slot is in one state: wanted by its window, claimed by one request, being copied,
// or filled. Only the claimant's answer is copied. A claimed row becomes wanted again when the
// claim's stream dies, or when the request is late and cancelled. So nothing is lost, repeated or
// torn. A slot is delivered when all its rows are filled, and reused only after OnSlotReleased().
//
// Allocates nothing per batch once its tables have grown; a window or an epoch may allocate. Not
// thread-safe.
class FetchController {
 public:
  // `plan` and `actions` must outlive it.
  FetchController(const Plan& plan, const Steps& steps, FetchOptions options,
                  FetchActions& actions);

  // The first call begins the job. Call it again after events, and at the time that the last call
  // returned.
  absl::Time Advance(absl::Time now);
  // Sends the requests for which a received part made room. After a part you may call this instead
  // of Advance(), if NextAdvance() is then still in the future.
  void AskForMore(absl::Time now);
  // The time at which Advance() must be called.
  absl::Time NextAdvance() const;

  void OnHello(absl::Time now, StreamId stream, const ServerInfo& info);
  void OnWindowReady(absl::Time now, StreamId stream, uint64_t window);
  // `working` is as in Credit.
  void OnCredit(absl::Time now, StreamId stream, uint64_t bytes, bool working = false);
  // The server ends after `grace`. If that is zero, it may end at any time.
  void OnDraining(absl::Time now, StreamId stream, absl::Duration grace = absl::ZeroDuration());
  // Rows of the stream cannot be decoded, and no other server could decode them. The job ends.
  void OnUndecodable(absl::Time now, StreamId stream, const absl::Status& status);
  void OnError(absl::Time now, StreamId stream, const StreamError& error);
  // The stream ended, or the caller will not read from it any more. CloseStream() follows.
  void OnBroken(absl::Time now, StreamId stream, absl::Status status);
  // Returns where rows [first_row, first_row + rows) of an answer belong. If the result is empty,
  // the caller must drop the rows. Otherwise it must copy them, whatever happens meanwhile, and
  // then call OnPartCopied(). The result is valid until the next event.
  std::span<const RowCopy> OnPart(absl::Time now, StreamId stream, uint64_t request,
                                  uint32_t first_row, uint32_t rows);
  void OnPartCopied(std::span<const RowCopy> copies);
  // Sets the set of servers. Servers that left it finish their outstanding requests and are then
  // dropped. An address that comes back has its old index. The addresses must differ. `all_known`
  // says that no name or file of servers is still to be read.
  void OnServersChanged(absl::Time now, std::span<const std::string> addresses,
                        bool all_known = true);
  // The consumer waits for this step (ReadyStep::index), which is then fetched at once.
  void OnConsumerWaiting(absl::Time now, uint64_t step);
  // The consumer has released a delivered slot.
  void OnSlotReleased(uint32_t slot);

  const ServerTable& servers() const { return servers_; }
  // The records that others replace, in the order in which servers agreed on them.
  std::span<const Damage> replaced() const { return damage_.agreed(); }

 private:
  void SetNow(absl::Time now);
  absl::Time NextCheck() const;
  void Fail(absl::Status status);
  // Ends the job if `status` is an error.
  void EndIf(const absl::Status& status);
  void EndIfDelivered();

  // Defined in fetch_controller_servers.cc:
  void FireTimers();
  absl::Time CheckServer(ServerEntry& server);
  absl::Time CheckUp(ServerEntry& server);
  absl::Time CheckLate(ServerEntry& server);
  absl::Time CheckSlow(ServerEntry& server);
  enum class Loss : uint8_t {
    kBroken,     // Its stream ended.
    kSilent,     // It did not, but the controller gives the server up.
    kLacksData,  // The server cannot give what the manifest lists, and is left out.
  };
  void Lose(ServerEntry& server, absl::Status status, Loss loss = Loss::kBroken);
  void Refuse(ServerEntry& server, Refusal refusal);
  void Remove(ServerEntry& server);
  void Drain(ServerEntry& server);
  void Place();
  void MarkSlow(ServerEntry& server);
  void FailProbe(ServerEntry& server);
  void Trust(ServerEntry& server);

  // Defined in fetch_controller_errors.cc:
  void OnDamage(ServerEntry& server, WindowEntry& window, const StreamError& error);
  void OnFailure(ServerEntry& server, WindowEntry& window, const StreamError& error);
  void ReportFailure(const ServerEntry& server, const absl::Status& status);
  bool FailedForGood(const ServerEntry& server, const WindowEntry& window,
                     absl::StatusCode code) const;

  const FetchOptions options_;
  const Steps steps_;
  FetchActions& actions_;
  bool ended_ = false;

  ProcessClock clock_;
  ServerTable servers_;
  Connections connections_;
  LaneMap placement_;
  SlotQueue slots_;
  Lateness lateness_;
  DamageJudge damage_;
  Suspects suspects_;
  Fetcher fetcher_;
  PlanWalker walker_;

  // The earliest time of the next report about a failure.
  absl::Time report_failure_at_ = absl::InfinitePast();
  std::vector<WindowEntry*> late_windows_;  // Scratch.
  std::vector<RowCopy> copies_;             // The result of OnPart().
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_FETCH_CONTROLLER_H_
