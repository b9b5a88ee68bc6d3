// Finds late requests: measures how long servers take, and which of them take longer than others.
#ifndef PENSTOCK_CLIENT_FETCH_LATENESS_H_
#define PENSTOCK_CLIENT_FETCH_LATENESS_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "client/fetch/answer_times.h"
#include "client/fetch/process_clock.h"
#include "client/fetch/server_table.h"
#include "client/fetch/slot_queue.h"
#include "client/fetch/window_table.h"

namespace penstock {

// Measures answers and loads. From them it derives when a request is late, when a server is silent
// or slow, and when a slow server is trusted again. It is told of each answer and each load.
//
// It changes only these: ServerEntry::slow, tell_slow_at, in_time, penalty and probe_at, and
// RequestEntry::late. It never moves a window and sends nothing. Not thread-safe.
class Lateness {
 public:
  // All of these must outlive it.
  Lateness(const ProcessClock& clock, const SlotQueue& slots, ServerTable& servers)
      : clock_(clock), slots_(slots), servers_(servers) {}

  // The time limit of an answer with rows of `bytes` bytes, without the time for a load. It grows
  // with `bytes`, because one large image takes as long as many small ones.
  absl::Duration AnswerLimit(uint64_t bytes) const;
  // The time at which the request becomes late if nothing comes.
  absl::Time DueBy(const RequestEntry& request) const;
  // The time at which the probe has failed.
  absl::Time ProbeDueBy(const RequestEntry& probe) const;
  // Whether the server has sent nothing for longer than an answer takes.
  bool IsSilent(const ServerEntry& server) const;
  // Whether other servers would do better than `server`, which is late.
  bool MayBeSlow(const ServerEntry& server) const;

  // Call this when the whole request has just been answered.
  void CountAnswer(const RequestEntry& request);
  // Call this when the server has loaded a window of `bytes` bytes in `took`.
  void CountLoad(uint32_t server, uint64_t bytes, absl::Duration took) {
    loads_.Add(server, bytes, took);
  }
  // Call this when the server has left the set.
  void Forget(uint32_t server);

  // Fills `late` with the windows of requests that missed their deadline, except suspects. Returns
  // when to look again.
  absl::Time FindLate(ServerEntry& server, std::vector<WindowEntry*>& late);

  // Marks the server as slow. It is probed after its penalty. The user is told if it stays slow for
  // longer than a busy machine keeps a healthy server from answering.
  void MarkSlow(ServerEntry& server);
  void MarkInTime(ServerEntry& server);
  // Delays the next probe of the server. Each penalty is twice as long as the last.
  void Penalise(ServerEntry& server);
  // Whether the server is slow but has answered in time so often that it needs no probe.
  bool IsForgiven(const ServerEntry& server) const;

 private:
  absl::Duration LoadLimit(uint64_t bytes) const;
  absl::Time DueBy(const RequestEntry& request, absl::Duration limit) const;
  absl::Time SinceWhen(const RequestEntry& request) const;
  uint64_t StepOf(const RequestEntry& request) const;
  absl::Time LateAt(const RequestEntry& request) const;
  bool LeavesSoonerRowsUnasked(const ServerEntry& server) const;
  bool OthersKeepItWaitingToo(const RequestEntry& request);
  void CollectAges(const ServerEntry& late);
  void LeaveOutSilent();

  const ProcessClock& clock_;
  const SlotQueue& slots_;
  ServerTable& servers_;
  std::vector<absl::Duration> ages_;  // Scratch.
  // Times from when the server could answer until the last part.
  AnswerTimes answers_;
  AnswerTimes loads_;  // Times from OpenWindow until WindowReady.
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_LATENESS_H_
