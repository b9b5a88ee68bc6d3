// The engine's state behind one lock: from what clients ask for to jobs for threads.
#ifndef PENSTOCK_RECORDS_ENGINE_JOB_SCHEDULER_H_
#define PENSTOCK_RECORDS_ENGINE_JOB_SCHEDULER_H_

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "records/engine/admission.h"
#include "records/engine/engine_options.h"
#include "records/engine/job.h"
#include "records/engine/messages.h"
#include "records/engine/shared_window.h"
#include "records/engine/storage_speed.h"
#include "records/engine/turns.h"

namespace penstock {

// Starts no thread, reads no file and calls no event: threads take work by Next() and do it without
// the lock. What they have answered they report with the next call of it, any other job by one
// Finish function. Thread-safe.
class JobScheduler {
 public:
  // `parts` and `share_parts`: as in Turns. `speed`, which must outlive it, says when loads are
  // left to the readers, if there are some.
  JobScheduler(uint64_t budget_bytes, const EngineLimits& limits, PartLedger& parts,
               bool share_parts, const StorageSpeed& speed);

  // kResourceExhausted: too many. Valid until ForgetSession().
  absl::StatusOr<SessionState*> AddSession(std::unique_ptr<SessionState> session);
  // Ends all that it asked for and waits for the jobs under way.
  void EndSession(SessionState& session);
  // REQUIRES: ended, and no part can return to it any more.
  void ForgetSession(SessionState& session);

  // As in Session.
  absl::Status OpenWindow(SessionState& session, OpenWindow window);
  absl::Status Fetch(SessionState& session, const Fetch& fetch);
  void Cancel(SessionState& session, uint64_t request);
  absl::Status Release(SessionState& session, uint64_t window);
  // The session's parts lie in memory of its own from now on, and those that have not returned take
  // no more than `bytes`.
  void LimitParts(SessionState& session, uint64_t bytes);

  // `work` is answered; waits for more. False: Stop() was called.
  bool Next(Work& work);
  // The same for a reader: loads only, while storage is slow, and so many at a time as fit.
  bool NextLoad(Work& work);
  void FinishLoad(const Job& job, std::optional<Chunk> chunk, const LoadError& error);
  // Rows of the job's window, if another session's window is the same; or null.
  std::shared_ptr<const SharedWindow> FindRows(const Job& job);
  // `rows`, or what FindRows() finds by now.
  std::shared_ptr<const SharedWindow> AddRows(const Job& job, WindowRows rows);
  // Its rows, which the client knows already, or why the window fails.
  void FinishBuild(const Job& job, std::shared_ptr<const SharedWindow> shared);
  void FailBuild(const Job& job, const absl::Status& status);
  void FinishRefusal(const Job& job);
  // Jobs of kDecode whose rows cannot be decoded: their requests are answered with `why`.
  void RefuseDecoded(std::span<const Job> jobs, const LoadError& why);

  // Parts that were awaited have returned.
  void PartReturned();
  void Stop();

  // Without the threads' times.
  EngineStats stats() const;
  // Memory that decoding images takes from the budget.
  void HoldImages(uint64_t bytes);
  void LetGoOfImages(uint64_t bytes);

  SessionStats stats(const SessionState& session) const;

 private:
  absl::Status AddRequest(SessionState& session, WindowState& window, const penstock::Fetch& fetch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes sure that the session may open a window of this number.
  absl::Status MakeRoomFor(SessionState& session, uint64_t window)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the memory of `what` from the budget, until LetGoOfDefinition().
  absl::Status HoldDefinition(uint64_t bytes, absl::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGoOfDefinition(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same, once for all sessions of a spec.
  absl::Status HoldSpec(const Decodings& spec) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGoOfSpec(const Decodings& spec) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Delete(WindowState* window) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status UseWindow(WindowState& window) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndRequest(RequestState& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(std::unique_ptr<WindowState> window) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(WindowState& window, const LoadError& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartPending(WindowState& window) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGo(const Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Admits windows that wait, where that may do.
  void Admit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What threads other than readers take.
  JobSet Shared() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the load that `work` may be, and wakes another thread if there is more.
  void Begin(const Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until there may be a job again.
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EngineLimits limits_;
  const StorageSpeed& speed_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar loads_;
  CondVar ended_;
  std::unordered_map<SessionState*, std::unique_ptr<SessionState>> sessions_
      ABSL_GUARDED_BY(mutex_);
  Admission admission_ ABSL_GUARDED_BY(mutex_);
  SharedWindows shared_windows_ ABSL_GUARDED_BY(mutex_);
  const PartLedger& parts_;
  Turns turns_ ABSL_GUARDED_BY(mutex_);
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t idle_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_readers_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t idle_readers_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reading_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Of the loads under way.
  uint64_t definition_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<const Decodings*, size_t> spec_sessions_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  EngineStats counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_SCHEDULER_H_
