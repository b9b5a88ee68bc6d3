// The part of JobScheduler that gives jobs to threads and collects their results.
#include <algorithm>
#include <utility>

#include "records/engine/job_scheduler.h"
#include "records/engine/row_cost.h"

namespace penstock {
namespace {

using Phase = WindowState::Phase;

// Returns the memory that loading the chunk takes in addition to its budget.
uint64_t ReadBytes(const ChunkEntry& chunk) {
  const bool frames = chunk.shard.container == Container::kTfRecord;
  return uint64_t{chunk.ref.size} + (frames ? 0 : chunk.ref.raw_size);
}

}  // namespace

bool JobScheduler::Next(Work& work) {
  MutexLock lock(&mutex_);
  running_ -= work.running;
  running_long_ -= work.running && work.is_long;
  End(work);
  while (!stopped_) {
    Admit();
    const JobSet set = Shared();
    if (turns_.Take(set, work.jobs)) {
      NoteBegin(work);
      ++running_;
      running_long_ += work.is_long;
      Begin(work);
      return true;
    }
    if (set == JobSet::kOthers) WakeReader();
    ++idle_threads_;
    WaitForWork(work_);
    --idle_threads_;
  }
  return false;
}

bool JobScheduler::NextShort(Work& work) {
  MutexLock lock(&mutex_);
  End(work);
  while (!stopped_) {
    if (AllHaveLongJobs()) {
      Admit();
      if (turns_.Take(JobSet::kShort, work.jobs)) {
        NoteBegin(work);
        return true;
      }
    }
    WaitForWork(short_jobs_);
  }
  return false;
}

void JobScheduler::End(Work& work) {
  Finish(work);
  finished_jobs_ += work.running;
  decoding_jobs_ -= work.running && work.decodes;
  work.jobs.clear();
  work.decoded = {};
  work.running = work.is_long = work.decodes = false;
}

void JobScheduler::NoteBegin(Work& work) {
  work.running = true;
  work.is_long = work.jobs.front().cost > kLongCost;
  work.decodes = work.jobs.front().kind != Job::Kind::kLoad;
  decoding_jobs_ += work.decodes;
}

bool JobScheduler::AllHaveLongJobs() const {
  return running_ > 0 && running_long_ == running_ && idle_threads_ == 0;
}

void JobScheduler::Wake() {
  work_.NotifyOne();
  if (AllHaveLongJobs()) short_jobs_.NotifyOne();
}

bool JobScheduler::NextLoad(Work& work) {
  MutexLock lock(&mutex_);
  End(work);
  has_readers_ = true;
  while (!stopped_) {
    if (MayRead() && turns_.Take(JobSet::kLoads, work.jobs)) {
      NoteBegin(work);
      Begin(work);
      return true;
    }
    if (!speed_.slow()) work_.NotifyOne();  // All threads may take loads.
    ++idle_readers_;
    loads_.Wait(&mutex_);
    --idle_readers_;
  }
  return false;
}

void JobScheduler::Admit() {
  admission_.Resume(turns_);
  if (!admission_.anyone_waits()) return;
  const auto now = Admission::Clock::now();
  if (admission_.MayAdmit(now)) admission_.Run(turns_, now);
}

JobSet JobScheduler::Shared() const {
  return has_readers_ && speed_.slow() ? JobSet::kOthers : JobSet::kAll;
}

void JobScheduler::Begin(const Work& work) {
  const Job& job = work.jobs.front();
  if (job.kind == Job::Kind::kLoad) reading_bytes_ += ReadBytes(*job.chunk);
  const JobSet set = Shared();
  if (idle_threads_ > 0 && turns_.AnyWork(set)) work_.NotifyOne();
  if (set == JobSet::kOthers) WakeReader();
  if (AllHaveLongJobs()) short_jobs_.NotifyOne();
}

bool JobScheduler::MayRead() const {
  return speed_.slow() && reading_bytes_ < limits_.reading_bytes;
}

void JobScheduler::WakeReader() {
  if (idle_readers_ > 0 && MayRead() && turns_.AnyWork(JobSet::kLoads)) loads_.NotifyOne();
}

void JobScheduler::WaitForWork(CondVar& changed) {
  if (admission_.anyone_waits() &&
      admission_.next_change() != Admission::Clock::time_point::max()) {
    changed.WaitUntil(&mutex_, admission_.next_change());
  } else {
    changed.Wait(&mutex_);
  }
}

void JobScheduler::FinishLoad(const Job& job, std::optional<Chunk> chunk, const LoadError& error) {
  MutexLock lock(&mutex_);
  std::vector<WindowState*> waiters = std::move(job.chunk->waiters);
  job.chunk->waiters.clear();
  reading_bytes_ -= ReadBytes(*job.chunk);
  counts_.bytes_read += job.chunk->file_bytes;
  ++counts_.chunks_loaded;
  if (chunk) {
    admission_.store().SetLoaded(*job.chunk, *std::move(chunk));
    for (WindowState* window : waiters) {
      if (--window->missing > 0) continue;
      window->session->window_work.Remove(window);
      window->phase = Phase::kBuilding;
      window->session->window_work.Insert(window);
    }
  } else {
    admission_.store().SetFailed(*job.chunk);
    for (WindowState* window : waiters) {
      if (window->phase != Phase::kFailed) Fail(*window, error);
    }
  }
  Wake();
  LetGo(job);
}

std::shared_ptr<const SharedWindow> JobScheduler::FindRows(const Job& job) {
  MutexLock lock(&mutex_);
  return shared_windows_.Find(*job.window);
}

std::shared_ptr<const SharedWindow> JobScheduler::AddRows(const Job& job, WindowRows rows) {
  MutexLock lock(&mutex_);
  return shared_windows_.Add(*job.window, std::move(rows));
}

void JobScheduler::FailBuild(const Job& job, const absl::Status& status) {
  MutexLock lock(&mutex_);
  // The window's chunks are loaded, so only a good record is missing.
  const bool needs_spare = absl::IsDataLoss(status);
  if (!job.window->released) Fail(*job.window, {status, std::nullopt, needs_spare});
  LetGo(job);
}

void JobScheduler::FinishBuild(const Job& job, std::shared_ptr<const SharedWindow> shared) {
  MutexLock lock(&mutex_);
  WindowState& window = *job.window;
  SharedWindows::Join(window, std::move(shared));
  admission_.SetReady(window, Admission::Clock::now());
  window.announced = true;
  StartPending(window);
  Wake();
  LetGo(job);
}

void JobScheduler::Finish(const Work& work) {
  if (work.jobs.empty()) return;
  counts_.mates_without_sign += work.decoded.counters.mates_without_sign;
  counts_.images += work.decoded.counters.images;
  counts_.strip_rows_decoded += work.decoded.block_rows;
  const auto now = Admission::Clock::now();
  for (const Job& job : work.jobs) {
    admission_.Touch(*job.window, now);
    counts_.rows_decoded += job.rows;
    counts_.bytes_out += job.bytes();
    ++counts_.parts;
    if (job.block.rows > 0) counts_.strip_rows += job.rows;
    LetGo(job);
  }
}

void JobScheduler::FinishRefusal(const Job& job) {
  MutexLock lock(&mutex_);
  if (job.kind == Job::Kind::kRefuseWindow) {
    job.window->told = true;
    StartPending(*job.window);  // The window's error comes first.
    Wake();
  } else {
    job.request->to_refuse = false;
  }
  LetGo(job);
}

void JobScheduler::RefuseDecoded(std::span<const Job> jobs, const LoadError& why) {
  MutexLock lock(&mutex_);
  for (const Job& job : jobs) {
    RequestState& request = *job.request;
    if (!request.ended && request.refusal.status.ok()) {
      request.refusal = Unshared(why);
      request.to_refuse = true;
      if (request.all_taken()) job.session->runnable.Insert(&request);
    }
    LetGo(job);
  }
  Wake();
}

void JobScheduler::LetGo(const Job& job) {
  Turns::Settle(job);
  SessionState& session = *job.session;
  if (RequestState* request = job.request; request != nullptr && --request->active == 0) {
    if (request->ended) {
      session.free_requests.push_back(request);
    } else if (request->all_taken() && !request->to_refuse) {
      EndRequest(*request);
    }
  }
  if (WindowState* window = job.window; window != nullptr && --window->active == 0) {
    if (window->released) {
      admission_.Withdraw(*window);
      Delete(window);
      Wake();
    } else {
      admission_.NoteIdle(*window);
    }
  }
  if (--session.active == 0) ended_.NotifyAll();
}

}  // namespace penstock
