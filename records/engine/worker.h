// The work of one thread of the engine, job by job.
#ifndef PENSTOCK_RECORDS_ENGINE_WORKER_H_
#define PENSTOCK_RECORDS_ENGINE_WORKER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/span_sink.h"
#include "records/engine/chunk_loader.h"
#include "records/engine/file_cache.h"
#include "records/engine/job.h"
#include "records/engine/job_scheduler.h"
#include "records/engine/job_times.h"
#include "records/engine/page_memory.h"
#include "records/engine/part_pool.h"
#include "records/engine/piece.h"
#include "records/engine/storage_speed.h"
#include "records/engine/strip_cache.h"

namespace penstock {

// The arguments of the constructor must outlive it. Not thread-safe: keep one for each thread.
class Worker {
 public:
  // Selects how the time of reads counts: as loading, or separately. It is separate for readers,
  // which do nothing else.
  enum class Waits { kLoading, kApart };

  Worker(JobScheduler& scheduler, FileCache& files, PageMemory& memory, PartPool& pool,
         StripCache& strips, StorageSpeed& speed, ImageMemory& images, JobTimes& times, Waits waits,
         SpanSink* spans)
      : scheduler_(scheduler),
        pool_(pool),
        strips_(strips),
        times_(times),
        waits_(waits),
        spans_(spans),
        loader_(files, memory, speed),
        decoder_(&images) {}

  // Does the jobs of `work`. Leaves in `work` the kDecode jobs that it has answered.
  void Do(Work& work);
  // Frees the memory that is kept for reading chunks.
  void FreeMemory() { loader_.FreeMemory(); }

 private:
  void Decode(Work& work);
  void Run(Job& job);
  void Load(Job& job);
  void Build(Job& job);
  // Notes what the jobs took since Do() was called, if their bytes do not tell.
  void Measure(std::span<Job> jobs) const;
  // Answers the requests of `work` with the failure of a row of the job.
  void Refuse(Work& work, const Job& job, const PieceOutcome& failed);
  // The time that the client spends in its event counts as decoding.
  void DecodeRows(Work& work);
  // Answers all jobs that wait for rows of the block, or leaves the jobs to the thread that decodes
  // it.
  void DecodeShared(Work& work);
  BlockResult DecodeBlock(const Job& job, std::span<uint8_t> memory, Decoded& decoded);
  // Returns the rows that the job requests from its block in `memory`.
  static PartBuffer PiecesOf(const Job& job, std::span<uint8_t> memory, const BlockResult& block);
  // parts_[i] answers jobs[i].
  void Send(std::span<const Job> jobs);

  JobScheduler& scheduler_;
  PartPool& pool_;
  StripCache& strips_;
  JobTimes& times_;
  const Waits waits_;
  SpanSink* const spans_;
  // Times of the current job that are counted separately.
  JobTimes::Clock::duration sending_{};
  JobTimes::Clock::duration reading_{};
  uint64_t thread_time_ = 0;  // JobTimes::ThreadTime() at the start of a job that is measured.
  ChunkLoader loader_;
  PieceDecoder decoder_;
  std::vector<PartBuffer> parts_;
  std::vector<PartPool::Home*> homes_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_WORKER_H_
