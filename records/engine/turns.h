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

// Between sessions deficit round robin (Shreedhar and Varghese, "Efficient fair queueing using
// deficit round robin", 1995) by bytes read and decoded; within one the earliest needed. A session
// whose parts have not returned gets no further part, but its chunks are still loaded.
//
// Not thread-safe: the scheduler's lock guards it.
class Turns {
 public:
  // `share_parts`: sessions with the same window open get blocks that are decoded once.
  Turns(const EngineLimits& limits, bool share_parts)
      : limits_(limits), share_parts_(share_parts) {}

  void Add(SessionState& session) { ring_.push_back(&session); }
  void Remove(SessionState& session);
  std::span<SessionState* const> sessions() const { return ring_; }

  // False: there is nothing to do now.
  bool Take(Job& job);
  // Whether Take() may find something.
  bool AnyWork() const;

  // Adds the jobs that answer from the same block as `leader`, of sessions whose earliest needed
  // rows lie there: what they cost is their sessions' turn. Not all if there are many.
  void TakeFollowers(const Job& leader, std::vector<Job>& jobs);

  // Memory of a part has returned.
  void PartReturned(SessionState* session, size_t capacity);

  uint64_t part_bytes() const { return part_bytes_; }

 private:
  bool HasWork(const SessionState& session) const;
  // Of a part that is decoded for its session alone.
  uint64_t RowsPerPart(const Decoding& decoding) const;
  bool MayRun(const SessionState& session, const RequestState& request) const;
  // Memory that NextPart() takes, at most.
  size_t NextBytes(const SessionState& session, const RequestState& request) const;
  // What would answer the next rows of `request`.
  Job NextPart(SessionState& session, RequestState& request) const;
  bool TakeFrom(SessionState& session, Job& job);
  bool TakeFromWindow(SessionState& session, WindowState& window, Job& job);
  void TakeRows(SessionState& session, RequestState& request, Job& job);
  // All sessions with work have had their turn.
  void BeginRounds(int64_t rounds);
  void Advance() { turn_ = turn_ + 1 < ring_.size() ? turn_ + 1 : 0; }

  const EngineLimits limits_;
  const bool share_parts_;
  std::vector<SessionState*> ring_;
  size_t turn_ = 0;
  uint64_t part_bytes_ = 0;  // Over all sessions, ended ones included.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_TURNS_H_
