// Fills the consumer's memory with batches from a cursor on, and starts again on request.
#ifndef PENSTOCK_CLI_FEED_FEED_SESSION_H_
#define PENSTOCK_CLI_FEED_FEED_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/io/unique_fd.h"
#include "base/mutex.h"
#include "cli/feed/feed_memory.h"
#include "cli/feed/feed_text.h"
#include "cli/feed/feed_writer.h"
#include "client/loader/loader.h"
#include "metrics/metric_families.h"

namespace penstock::feed {

// A loader that announces batches as they are filled and holds each until the consumer releases it.
// All calls must come from one thread; a thread of its own takes batches.
class FeedSession {
 public:
  // `writer` must outlive this. `slot_bytes` is that of LoaderShape.
  FeedSession(LoaderOptions options, size_t slot_bytes, FeedWriter& writer);
  ~FeedSession();

  // Drops the batches that the previous generation has fetched, and begins at `start.cursor`. If
  // `memory` is invalid, uses the memory of the previous generation again. Announces errors as
  // errors of this generation.
  void Start(uint32_t generation, const StartText& start, UniqueFd memory);
  // Calls for an earlier generation do nothing. kInvalidArgument: the consumer does not hold the
  // slot.
  absl::Status Release(uint32_t generation, uint64_t slot);
  void NoteWaiting(uint32_t generation, uint64_t step);
  // Announces the loader's counters, and on request the page of its metrics. kResourceExhausted:
  // the consumer has not read earlier answers.
  absl::Status AnswerStats(uint32_t generation, bool with_metrics = false);

  // The loader's counters with the waits of the consumer. May be called from any thread. All begin
  // again at 0 with each generation.
  LoaderStats stats() const;
  // Adds these counters for Prometheus. May be called from any thread.
  void Collect(MetricFamilies& families) const;

 private:
  absl::Status Open(const StartText& start, UniqueFd memory);
  void Stop();
  // Takes batches until the last one, an error or Stop().
  void Run();
  void Announce(Batch batch);
  void EndWait(uint64_t step);
  // Also forgets the waits.
  void SetLoader(std::unique_ptr<Loader> loader);

  const LoaderOptions options_;
  const size_t slot_bytes_;
  FeedWriter& writer_;
  std::unique_ptr<FeedMemory> memory_;
  // Set while stats_mutex_ is held, which makes stats() wait.
  std::unique_ptr<Loader> loader_;
  uint32_t generation_ = 0;
  uint64_t first_step_ = 0;  // The consumer's number for the loader's step 0.
  std::atomic<bool> stopping_ = false;
  mutable Mutex stats_mutex_;
  // The waits of the consumer, as LoaderStats has them, except for a wait in progress.
  LoaderStats waited_ ABSL_GUARDED_BY(stats_mutex_);
  std::optional<absl::Time> waiting_since_ ABSL_GUARDED_BY(stats_mutex_);
  uint64_t next_step_ ABSL_GUARDED_BY(stats_mutex_) = 0;  // The next one to announce.
  Mutex mutex_;
  std::vector<Batch> held_ ABSL_GUARDED_BY(mutex_);  // Indexed by slot.
  std::jthread thread_;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_SESSION_H_
