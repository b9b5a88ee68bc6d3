// What an engine may use, and what its clients may ask for.
#ifndef PENSTOCK_RECORDS_ENGINE_ENGINE_OPTIONS_H_
#define PENSTOCK_RECORDS_ENGINE_ENGINE_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/span_sink.h"
#include "records/image/image_note.h"

namespace penstock {

struct EngineLimits {
  size_t max_sessions = 1024;
  size_t max_windows = 1024;   // Open on one session.
  size_t max_requests = 4096;  // Outstanding on one session.
  size_t max_chunks_per_window = 4096;
  size_t max_path_bytes = 4096;
  // A chunk's bytes after decompression; a record fits in a chunk.
  uint64_t max_chunk_bytes = uint64_t{64} << 20;
  // Memory of parts that have not returned: a client that does not read costs no more. Beyond that
  // of the engine, which Engine::Create() lowers to an eighth of the budget or to that of a
  // session, a session has one small part at a time.
  uint64_t session_part_bytes = uint64_t{16} << 20;
  // Of these, as many as caches near the processors hold: this, or 2 MiB a thread if that is more.
  uint64_t cached_part_bytes = uint64_t{4} << 20;
  uint64_t engine_part_bytes = uint64_t{128} << 20;
  // Memory of the definitions of all open windows, and of the decode specs of all sessions, each
  // spec once. Engine::Create() lowers it to a quarter of the budget, or to 64 MiB.
  uint64_t max_definition_bytes = uint64_t{512} << 20;
  // Kept open. Engine::Create() lowers it to a quarter of the process's descriptors.
  size_t max_open_files = 256;
  // Chunks that are read at a time while storage is slow, in bytes as they are read and unpacked:
  // one more is begun below that.
  uint64_t reading_bytes = uint64_t{16} << 20;
  // Storage is slow where reads take longer than this and what copying takes.
  std::chrono::steady_clock::duration slow_read = std::chrono::microseconds(200);
  // A window that was not read for so long makes room for others, and is loaded again when it is.
  std::chrono::steady_clock::duration idle_pin = std::chrono::seconds(30);
  // Where the windows that clients read do not fit together, each has its own for so long, once all
  // are loaded.
  std::chrono::steady_clock::duration stay = std::chrono::seconds(1);
};

struct EngineOptions {
  static constexpr uint32_t kMaxThreads = 1024;
  // No window fits into less; who gives less has forgotten the unit.
  static constexpr uint64_t kMinMemoryBudget = uint64_t{64} << 10;

  std::string data_root = {};  // Shards are opened beneath it.
  uint32_t threads = 0;        // 0: the cores of this process's control group.
  // Beside them, started by the first read that waits for storage, and only for chunks: 0 leaves
  // those to `threads`.
  uint32_t read_threads = 32;
  // Of chunks, windows and their definitions, requests, parts and the strip cache; 0: a quarter of
  // its memory.
  uint64_t memory_budget = 0;
  // Of memory_budget, for decoded rows that several sessions are sent; at most an eighth of it is
  // used so, and beside it 1 MiB a thread. Jobs hit that are no further apart. 0: every session's
  // rows are decoded for it alone.
  uint64_t strip_cache = uint64_t{256} << 20;
  SpanSink* spans = nullptr;  // Of its threads.
  EngineLimits limits = {};

  // kInvalidArgument names the option.
  absl::Status Validate() const;
};

struct EngineStats {
  uint64_t instance = 0;  // New at each start of an engine.
  uint32_t threads = 0;
  uint64_t sessions = 0;
  uint64_t windows = 0;
  uint64_t waiting_windows = 0;   // For memory.
  uint64_t waiting_requests = 0;  // That have not ended.
  uint64_t waiting_bytes = 0;     // Of their rows that are not taken to be decoded.
  uint64_t budget_bytes = 0;      // What of the memory budget is not for parts and strips.
  uint64_t resident_bytes = 0;    // Of chunks and windows, in the budget.
  uint64_t pinned_bytes = 0;      // Of these, in use.
  uint64_t part_bytes = 0;        // Of memory with parts that have not returned.
  uint64_t strip_bytes = 0;       // Of decoded rows that are kept for other sessions.
  // Since the start:
  uint64_t chunks_loaded = 0;
  uint64_t chunk_hits = 0;  // Chunks of an admitted window that were there.
  uint64_t chunks_evicted = 0;
  uint64_t bytes_read = 0;  // From files.
  uint64_t slow_reads = 0;  // Reads of chunks that waited for storage.
  uint64_t windows_yielded = 0;
  uint64_t rows_decoded = 0;        // Of answers.
  uint64_t strip_rows = 0;          // Of these, lent from blocks that sessions share.
  uint64_t strip_rows_decoded = 0;  // Decoded into such blocks.
  uint64_t parts = 0;
  uint64_t bytes_out = 0;
  uint64_t mates_without_sign = 0;
  ImageCounts images;  // Of all that were decoded, however often they were sent.
  // Seconds of the threads, by job; a job counts when it has ended. What is left of capacity they
  // were idle.
  double load_seconds = 0;    // Reading and packing chunks.
  double build_seconds = 0;   // Ordering the rows of windows.
  double decode_seconds = 0;  // Without the next:
  double send_seconds = 0;    // Inside the events of sessions, but for OnRows().
  double capacity_seconds = 0;
  // Of the read_threads, which have no part in capacity: waiting for storage. What they do with a
  // chunk then is in load_seconds.
  double read_seconds = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ENGINE_OPTIONS_H_
