// Fills the consumer's memory with batches from a cursor on, and starts again on request.
#ifndef PENSTOCK_CLI_FEED_FEED_SESSION_H_
#define PENSTOCK_CLI_FEED_FEED_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/io/unique_fd.h"
#include "base/mutex.h"
#include "cli/feed/feed_memory.h"
#include "cli/feed/feed_text.h"
#include "cli/feed/feed_writer.h"
#include "client/loader/loader.h"

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
  // Announces the loader's counters.
  void AnswerStats(uint32_t generation);

 private:
  absl::Status Open(const StartText& start, UniqueFd memory);
  void Stop();
  // Takes batches until the last one, an error or Stop().
  void Run();
  void Announce(Batch batch);

  const LoaderOptions options_;
  const size_t slot_bytes_;
  FeedWriter& writer_;
  std::unique_ptr<FeedMemory> memory_;
  std::unique_ptr<Loader> loader_;
  uint32_t generation_ = 0;
  uint64_t first_step_ = 0;  // The consumer's number for the loader's step 0.
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::vector<Batch> held_ ABSL_GUARDED_BY(mutex_);  // Indexed by slot.
  std::jthread thread_;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_SESSION_H_
