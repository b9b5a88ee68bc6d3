// The numbers of LoaderStats that are counted as they happen.
#ifndef PENSTOCK_CLIENT_LOADER_LOADER_COUNTERS_H_
#define PENSTOCK_CLIENT_LOADER_LOADER_COUNTERS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/loader/loader.h"
#include "client/loader/slot_layout.h"

namespace penstock {

// Servers are told apart by their index. Call BeginStream() for a server before you count anything
// else of it. Makes no call out of the class while it holds its lock. Thread-safe.
class LoaderCounters {
 public:
  LoaderCounters(uint64_t slots, const SlotLayout& layout);

  // Call this when the server has a new stream. Forgets how its last stream was connected.
  void BeginStream(uint32_t server, const std::string& address);
  void CountWindow(uint32_t server);
  // `images` are those of the part's rows that were taken.
  void CountPart(uint32_t server, uint32_t rows, absl::Duration copying, const ImageCounts& images);
  // Returns the error with which the part's stream ends.
  absl::Status CountChecksumFailure(uint32_t server, uint32_t rows, uint32_t computed,
                                    uint32_t sent);
  void NoteSharedMemory(uint32_t server, const absl::Status& status);
  void NoteNoFurtherConnection(uint32_t server, std::string problem);

  void AddDamage(uint64_t records, std::string name);
  void AddUndecodable(uint64_t rows);

  // Call this when the consumer begins to wait. Until EndWait(), stats() count the time that has
  // passed as waited.
  void BeginWait(absl::Time start);
  void EndWait(absl::Time start);
  void CountBatch(size_t rows);

  LoaderStats stats() const;

 private:
  const uint64_t row_bytes_;
  mutable Mutex mutex_;
  LoaderStats stats_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Time> waiting_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_LOADER_COUNTERS_H_
