// Decides whose job is next.
#ifndef PENSTOCK_RECORDS_ENGINE_TURNS_H_
#define PENSTOCK_RECORDS_ENGINE_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/engine/engine_options.h"
#include "records/engine/job.h"

namespace penstock {

// The kinds of jobs that a thread takes. kShort leaves out rows that take longer than about 10 ms.
enum class JobSet { kAll, kLoads, kOthers, kShort };

// Sessions take turns by deficit round robin (Shreedhar and Varghese, "Efficient fair queueing
// using deficit round robin", 1995). It counts the bytes that are read and decoded; an image counts
// as the bytes that take as long (row_cost.h). An estimate is charged when a job is taken, and the
// rest when its time is known. Within a session, the earliest needed job is next. A session whose
// parts have not returned gets no further part, but its chunks are still loaded.
//
// Not thread-safe: guarded by the scheduler's lock.
class Turns {
 public:
  // `parts` counts the parts of all sessions, including ended ones, and must outlive this object.
  // If `share_parts`, sessions that have the same window open get blocks that are decoded once.
  Turns(const EngineLimits& limits, PartLedger& parts, bool share_parts)
      : limits_(limits), parts_(parts), share_parts_(share_parts) {}

  void Add(SessionState& session) { ring_.push_back(&session); }
  void Remove(SessionState& session);
  std::span<SessionState* const> sessions() const { return ring_; }

  // Adds the next job or jobs of `set`, as in Work. Returns false if there is nothing to do at the
  // moment. If that is because parts must return first, `parts` is awaited.
  bool Take(JobSet set, std::vector<Job>& jobs);
  // Charges the session for what the job took, if that was measured, instead of the estimate.
  static void Settle(const Job& job);
  // Whether Take() may find something.
  bool AnyWork(JobSet set) const;
  // If `session` cannot have its next part before parts return, awaits `parts` and returns the
  // memory of that part. Returns 0 if the session may have its next part.
  size_t AwaitedBytes(const SessionState& session) const;
  // Whether a part of `capacity` bytes may be outstanding. If not, `parts` is awaited.
  bool MayHave(const SessionState& session, size_t capacity) const;

 private:
  bool HasWork(const SessionState& session, JobSet set) const;
  // Returns the number of rows in a part that is decoded for its session alone.
  uint64_t RowsPerPart(const Decoding& decoding) const;
  bool MayRun(const SessionState& session, const RequestState& request) const;
  // Like MayRun(), if the part lies in memory of another session's part.
  bool MayFollow(const SessionState& session, const RequestState& request) const;
  // Whether another part of `capacity` bytes is within the limits.
  bool Fits(const SessionState& session, size_t capacity) const;
  // Returns whether such a part is within the session's limits.
  bool FitsSession(const SessionState& session, size_t capacity) const;
  // Whether the next rows of `request` are lent from a block. If the parts of other sessions leave
  // no room, no block is begun. `leads` is false for rows that are lent from a block that is
  // already begun.
  bool IsLent(const SessionState& session, const RequestState& request, bool leads) const;
  // Returns the largest memory that NextPart() may take.
  size_t NextBytes(const SessionState& session, const RequestState& request, bool leads) const;
  // Returns the job that would answer the next rows of `request`.
  Job NextPart(SessionState& session, RequestState& request, bool leads) const;
  bool TakeOne(JobSet set, Job& job);
  // Takes a short job of the session that has had least. Begins no rounds, because sessions with
  // long jobs take no part.
  bool TakeShort(Job& job);
  // Returns the request whose rows may be next, or null.
  RequestState* NextRequest(const SessionState& session, JobSet set) const;
  // Adds the jobs that can be answered from the same block as `leader`, for sessions whose earliest
  // needed rows lie there. Each session is charged for its own job. If there are many, adds only
  // some.
  void TakeFollowers(const Job& leader, std::vector<Job>& jobs);
  bool TakeFrom(SessionState& session, JobSet set, Job& job);
  bool TakeFromWindow(SessionState& session, WindowState& window, Job& job);
  void TakeRows(SessionState& session, RequestState& request, bool leads, Job& job);
  // Begins new rounds. Call it when all sessions with work of `set` have had their turn.
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
