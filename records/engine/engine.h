// Turns bytes on disk into decoded rows, for many clients at once.
#ifndef PENSTOCK_RECORDS_ENGINE_ENGINE_H_
#define PENSTOCK_RECORDS_ENGINE_ENGINE_H_

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/root.h"
#include "base/mutex.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/engine_options.h"
#include "records/engine/file_cache.h"
#include "records/engine/image_budget.h"
#include "records/engine/job_scheduler.h"
#include "records/engine/job_times.h"
#include "records/engine/page_memory.h"
#include "records/engine/part_pool.h"
#include "records/engine/session.h"
#include "records/engine/storage_speed.h"
#include "records/engine/strip_cache.h"

namespace penstock {

// Owns the threads that load chunks and decode rows, and the chunks that sessions share. The
// answers of a session are decoded in the order in which they are needed. Between sessions, the
// threads take turns by bytes. Once a session's windows are open and its buffers are warm, its
// parts need no further memory.
//
//   ASSIGN_OR_RETURN(auto engine, Engine::Create({.data_root = "/data/chess"}));
//   ASSIGN_OR_RETURN(auto session, engine->OpenSession({.spec = spec}, events));
//   session->OpenWindow(window);  // events.OnWindowReady(), in time
//   session->Fetch(fetch);        // events.OnPart(), until all rows are there
//
// Thread-safe.
class Engine {
 public:
  // kInvalidArgument: an option is invalid.
  // kNotFound, kPermissionDenied: the data root cannot be opened.
  // kResourceExhausted: a thread could not be started.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(const EngineOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // REQUIRES: there are no sessions. Parts may still exist.
  ~Engine();

  // `events` must outlive the session. Destroy the session before the engine, but not inside an
  // event.
  // kInvalidArgument: the decode spec or the split is invalid, or a row is larger than a part with
  // any dtype.
  // kResourceExhausted: too many clients, or no memory for the definition of another spec.
  absl::StatusOr<std::unique_ptr<Session>> OpenSession(const StreamOptions& options,
                                                       SessionEvents& events);

  // Holds the scheduler's lock while it sums over the sessions.
  EngineStats stats() const;
  // Upper bound for the memory of malloc() that decoding images uses now.
  uint64_t image_bytes() const { return images_.used_bytes(); }
  // The options, with the values that Create() filled in.
  const EngineOptions& options() const { return options_; }

 private:
  class EngineSession;

  Engine(EngineOptions options, Root root);
  absl::Status StartThreads();
  void RunThread(size_t number);
  void RunReader(size_t number);
  void RunShortJobs();
  // Takes memory for images from the budget, and starts the thread for jobs that need not wait for
  // long ones. Called once, for the first session with images.
  void ExpectImages();
  // Starts as many readers as possible. Called once, by one thread.
  void StartReaders();
  std::shared_ptr<const ChunkLayout> Intern(ChunkLayout layout);
  // Returns the decodings of the spec, compiled once for all sessions with the same spec.
  absl::StatusOr<std::shared_ptr<const Decodings>> DecodingsFor(const StreamOptions& options);
  ServerInfo Describe(const Decodings& decodings) const;

  const EngineOptions options_;
  const uint64_t instance_;
  const Root root_;
  const JobTimes::Clock::time_point started_ = JobTimes::Clock::now();
  FileCache files_;
  StorageSpeed speed_;
  // Memory of chunks and parts. Shared with the pool.
  const std::shared_ptr<PageMemory> memory_;
  JobTimes times_;
  // Shared with the homes of parts, which may outlive the engine.
  const std::shared_ptr<PartPool> pool_;
  JobScheduler scheduler_;
  StripCache strips_;
  ImageBudget images_;

  mutable Mutex mutex_;
  // Shared by sessions and chunks. Equal layouts are the same object, so that sessions share
  // chunks.
  std::unordered_map<std::string, std::weak_ptr<const ChunkLayout>> layouts_
      ABSL_GUARDED_BY(mutex_);

  std::unordered_map<std::string, std::weak_ptr<const Decodings>> decodings_
      ABSL_GUARDED_BY(mutex_);

  // These come last, because they use everything above.
  std::once_flag readers_started_, images_expected_;
  std::vector<std::jthread> readers_;
  std::vector<std::jthread> threads_;
  std::jthread short_jobs_;  // Has no thread if none could be started.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ENGINE_H_
