// The state of the engine behind one lock. Turns requests of clients into jobs for threads.
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

// Starts no thread, reads no file and calls no event. Threads get work from Next(), and do it
// without the lock. They report answered kDecode jobs with the next call of Next(), and every other
// job with one of the Finish functions. Thread-safe.
class JobScheduler {
 public:
  // `parts` and `share_parts` are as in Turns. `speed` decides when loads are left to the readers,
  // if there are any. `parts` and `speed` must outlive the scheduler.
  JobScheduler(uint64_t budget_bytes, const EngineLimits& limits, PartLedger& parts,
               bool share_parts, const StorageSpeed& speed);

  // The pointer is valid until ForgetSession(). kResourceExhausted: too many sessions, or no memory
  // for the session's spec.
  absl::StatusOr<SessionState*> AddSession(std::unique_ptr<SessionState> session);
  // Ends everything that the session requested, and waits for its current jobs.
  void EndSession(SessionState& session);
  // Removes the session. REQUIRES: EndSession() was called, and no part can return to the session
  // any more.
  void ForgetSession(SessionState& session);

  // The next four do what the methods of Session with the same names do.
  absl::Status OpenWindow(SessionState& session, OpenWindow window);
  absl::Status Fetch(SessionState& session, const Fetch& fetch);
  void Cancel(SessionState& session, uint64_t request);
  absl::Status Release(SessionState& session, uint64_t window);
  // From this call on, the session's parts are in separate memory, and its outstanding parts take
  // at most `bytes`.
  void LimitParts(SessionState& session, uint64_t bytes);

  // Reports the jobs of `work` as answered, and waits for new work. Returns false once Stop() was
  // called.
  bool Next(Work& work);
  // Like Next(), for a reader: gives only loads, only while storage is slow, and only as many at a
  // time as fit.
  bool NextLoad(Work& work);
  // Like Next(), for one more thread, which takes only short jobs, and only while all others have
  // long ones. So a job of microseconds need not wait for an image of seconds. A session is charged
  // as usual, but gets no turn for it, so it cannot have more than its share.
  bool NextShort(Work& work);
  // Reports a load. `chunk` is nullopt if it failed with `error`.
  void FinishLoad(const Job& job, std::optional<Chunk> chunk, const LoadError& error);
  // Returns the rows of the job's window if another session has the same window, else null.
  std::shared_ptr<const SharedWindow> FindRows(const Job& job);
  // Stores `rows`, or returns what FindRows() finds meanwhile.
  std::shared_ptr<const SharedWindow> AddRows(const Job& job, WindowRows rows);
  // Reports the window's rows, which the client may already know of. FailBuild() reports why the
  // window fails.
  void FinishBuild(const Job& job, std::shared_ptr<const SharedWindow> shared);
  void FailBuild(const Job& job, const absl::Status& status);
  void FinishRefusal(const Job& job);
  // Reports kDecode jobs whose rows cannot be decoded. Their requests are answered with `why`.
  void RefuseDecoded(std::span<const Job> jobs, const LoadError& why);

  // Call it when awaited parts have returned.
  void PartReturned();
  // Ends the calls of Next() and NextLoad().
  void Stop();

  // Returns the statistics without the times of the threads.
  EngineStats stats() const;
  // These take memory for decoding images from the budget, and give it back.
  void HoldImages(uint64_t bytes);
  // Takes memory from the budget for ever. Windows may then use only the rest.
  void Reserve(uint64_t bytes);
  void LetGoOfImages(uint64_t bytes);

  SessionStats stats(const SessionState& session) const;

 private:
  absl::Status AddRequest(SessionState& session, WindowState& window, const penstock::Fetch& fetch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks that the session may open a window with this number, and removes a failed one.
  absl::Status MakeRoomFor(SessionState& session, uint64_t window)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes memory for `what` from the budget. LetGoOfDefinition() gives it back.
  absl::Status HoldDefinition(uint64_t bytes, absl::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGoOfDefinition(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Like HoldDefinition(), but takes the memory only once for all sessions with the same spec.
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
  // Admits waiting windows, if that may be possible.
  void Admit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The jobs that threads other than readers take.
  JobSet Shared() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the load if `work` is one, and wakes another thread if there is more work.
  void Begin(const Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Memory that windows may use.
  uint64_t WindowBudget() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return admission_.store().budget_bytes() - reserved_bytes_;
  }
  // Notes that the jobs of `work` are done, or that they begin.
  void End(Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteBegin(Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether no thread will look for work before a long job is done.
  bool AllHaveLongJobs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes a thread for new work.
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until there may be a job.
  void WaitForWork(CondVar& changed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EngineLimits limits_;
  const StorageSpeed& speed_;
  mutable Mutex mutex_;
  CondVar work_;
  CondVar loads_;
  CondVar short_jobs_;
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
  // Jobs of the threads that call Next(), and how many of them are long.
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t running_long_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t decoding_jobs_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t finished_jobs_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reading_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Bytes of current loads.
  uint64_t definition_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<const Decodings*, size_t> spec_sessions_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  EngineStats counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_SCHEDULER_H_
