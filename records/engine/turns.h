// Whose job is next.
#ifndef PENSTOCK_RECORDS_ENGINE_TURNS_H_
#define PENSTOCK_RECORDS_ENGINE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/engine/engine_options.h"
#include "records/engine/job.h"

namespace penstock {

// What a thread takes.
enum class JobSet { kAll, kLoads, kOthers };

// Between sessions deficit round robin (Shreedhar and Varghese, "Efficient fair queueing using
// deficit round robin", 1995) by bytes read and decoded, where images count what takes as long
// (row_cost.h); within one the earliest needed. A session
// whose parts have not returned gets no further part, but its chunks are still loaded.
//
// Not thread-safe: the scheduler's lock guards it.
class Turns {
 public:
  // `parts`: those of all sessions, ended ones included. `share_parts`: sessions with the same
  // window open get blocks that are decoded once. `parts` must outlive it.
  Turns(const EngineLimits& limits, PartLedger& parts, bool share_parts)
      : limits_(limits), parts_(parts), share_parts_(share_parts) {}

  void Add(SessionState& session) { ring_.push_back(&session); }
  void Remove(SessionState& session);
  std::span<SessionState* const> sessions() const { return ring_; }

  // Adds what of `set` is to do next, one job or several, as in Work. False: there is nothing now;
  // where that is because parts must return first, `parts` is awaited.
  bool Take(JobSet set, std::vector<Job>& jobs);
  // Whether Take() may find something.
  bool AnyWork(JobSet set) const;
  // The memory of a part that `session` gets when parts have returned, and not before; 0 if it may
  // have its next. `parts` is awaited then.
  size_t AwaitedBytes(const SessionState& session) const;
  // Whether a part of so much memory may be outside; otherwise `parts` is awaited.
  bool MayHave(const SessionState& session, size_t capacity) const;

 private:
  bool HasWork(const SessionState& session, JobSet set) const;
  // Of a part that is decoded for its session alone.
  uint64_t RowsPerPart(const Decoding& decoding) const;
  bool MayRun(const SessionState& session, const RequestState& request) const;
  // MayRun(), in memory that another session's part lies in.
  bool MayFollow(const SessionState& session, const RequestState& request) const;
  // A part of `capacity` more bytes is within the limits.
  bool Fits(const SessionState& session, size_t capacity) const;
  // Within those of its session.
  bool FitsSession(const SessionState& session, size_t capacity) const;
  // Whether the next rows of `request` are lent from a block. Where other sessions' parts leave no
  // room none is begun: `leads` is false of what is answered from one that is.
  bool IsLent(const SessionState& session, const RequestState& request, bool leads) const;
  // Memory that NextPart() takes, at most.
  size_t NextBytes(const SessionState& session, const RequestState& request, bool leads) const;
  // What would answer the next rows of `request`.
  Job NextPart(SessionState& session, RequestState& request, bool leads) const;
  bool TakeOne(JobSet set, Job& job);
  // Adds the jobs that answer from the same block as `leader`, of sessions whose earliest needed
  // rows lie there: what they cost is their sessions' turn. Not all if there are many.
  void TakeFollowers(const Job& leader, std::vector<Job>& jobs);
  bool TakeFrom(SessionState& session, JobSet set, Job& job);
  bool TakeFromWindow(SessionState& session, WindowState& window, Job& job);
  void TakeRows(SessionState& session, RequestState& request, bool leads, Job& job);
  // All sessions with work of `set` have had their turn.
  void BeginRounds(JobSet set, int64_t rounds);
  void Advance() { turn_ = turn_ + 1 < ring_.size() ? turn_ + 1 : 0; }

  const EngineLimits limits_;
  PartLedger& parts_;
  const bool share_parts_;
  std::vector<SessionState*> ring_;
  size_t turn_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_TURNS_H_
