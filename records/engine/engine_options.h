// The resources that an engine may use, and the limits for its clients.
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
  size_t max_windows = 1024;   // Open windows of a session.
  size_t max_requests = 4096;  // Outstanding requests of a session.
  size_t max_chunks_per_window = 4096;
  size_t max_path_bytes = 4096;
  // Bytes of a chunk after decompression, and thus also the limit for a record.
  uint64_t max_chunk_bytes = uint64_t{64} << 20;
  // Memory of outstanding parts of a session, that is, parts that have not returned. A client that
  // does not read costs at most this. If engine_part_bytes is exhausted, a session gets one small
  // part at a time.
  uint64_t session_part_bytes = uint64_t{16} << 20;
  // A second limit for the outstanding parts of a session: as much as the caches near the
  // processors hold. Engine::Create() raises it to 2 MiB for each thread.
  uint64_t cached_part_bytes = uint64_t{4} << 20;
  // Memory of outstanding parts of all sessions. Engine::Create() lowers it to an eighth of the
  // budget, but not below session_part_bytes.
  uint64_t engine_part_bytes = uint64_t{128} << 20;
  // Memory for the definitions of all open windows and for the decode specs of all sessions, each
  // spec once. Engine::Create() lowers it to a quarter of the budget, but not below 64 MiB.
  uint64_t max_definition_bytes = uint64_t{512} << 20;
  // Files that are kept open. Engine::Create() lowers it to a quarter of the process's descriptors.
  size_t max_open_files = 256;
  // Limit for the bytes of chunks that are read at a time while storage is slow, counted as read
  // and unpacked. Another read begins while the sum is below this limit.
  uint64_t reading_bytes = uint64_t{16} << 20;
  // Storage is slow if a read takes longer than this plus the time of a copy.
  std::chrono::steady_clock::duration slow_read = std::chrono::microseconds(200);
  // A window that was not read for this long makes room for others. It is loaded again when it is
  // read.
  std::chrono::steady_clock::duration idle_pin = std::chrono::seconds(30);
  // If the windows that clients read do not fit together, each client keeps its windows for this
  // long once all of them are loaded.
  std::chrono::steady_clock::duration stay = std::chrono::seconds(1);
};

struct EngineOptions {
  static constexpr uint32_t kMaxThreads = 1024;
  // No window fits into less. A smaller budget probably lacks its unit.
  static constexpr uint64_t kMinMemoryBudget = uint64_t{64} << 10;

  std::string data_root = {};  // Folder beneath which shards are opened.
  uint32_t threads = 0;        // 0 means the cores of this process's control group.
  // Number of additional threads that only read chunks. The first read that waits for storage
  // starts them. If 0, `threads` do all the reading.
  uint32_t read_threads = 32;
  // Bytes for chunks, windows and their definitions, requests, parts and the strip cache. If 0, a
  // quarter of the memory of the process's control group.
  uint64_t memory_budget = 0;
  // Part of memory_budget for decoded rows that are sent to several sessions. At most an eighth of
  // memory_budget is used for this, plus 1 MiB for each thread. Two jobs share rows if they are no
  // further apart than this. If 0, rows are decoded separately for every session.
  uint64_t strip_cache = uint64_t{256} << 20;
  SpanSink* spans = nullptr;  // Receives spans of the engine's threads; may be null.
  EngineLimits limits = {};

  // kInvalidArgument: an option is out of range. The message names it.
  absl::Status Validate() const;
};

struct EngineStats {
  uint64_t instance = 0;  // New whenever an engine starts.
  uint32_t threads = 0;
  uint64_t sessions = 0;
  uint64_t windows = 0;
  uint64_t waiting_windows = 0;   // Windows that wait for memory.
  uint64_t waiting_requests = 0;  // Requests that have not ended.
  uint64_t waiting_bytes = 0;     // Bytes of requested rows that are not being decoded yet.
  uint64_t budget_bytes = 0;      // The memory budget without parts and strip cache.
  uint64_t resident_bytes = 0;    // Bytes of chunks and windows in the budget.
  uint64_t pinned_bytes = 0;      // The part of resident_bytes that is in use.
  uint64_t part_bytes = 0;        // Bytes of outstanding parts.
  uint64_t strip_bytes = 0;       // Bytes of decoded rows that are kept for other sessions.
  // The read in progress that has lasted longest; 0 seconds if there is none.
  double longest_read_seconds = 0;
  std::string longest_read_shard = {};
  // Counters since the engine started:
  uint64_t chunks_loaded = 0;
  uint64_t chunk_hits = 0;  // Chunks of admitted windows that were already in memory.
  uint64_t chunks_evicted = 0;
  uint64_t bytes_read = 0;  // Bytes read from files.
  uint64_t slow_reads = 0;  // Reads of chunks that waited for storage.
  uint64_t windows_yielded = 0;
  uint64_t rows_decoded = 0;        // Rows of answers.
  uint64_t strip_rows = 0;          // Rows of answers that were lent from shared blocks.
  uint64_t strip_rows_decoded = 0;  // Rows decoded into such blocks.
  uint64_t parts = 0;
  uint64_t bytes_out = 0;
  uint64_t mates_without_sign = 0;
  ImageCounts images;  // Images that were decoded, however often they were sent.
  // Seconds that the threads spent, by activity. A job is added when it has ended. The threads were
  // idle for the rest of capacity_seconds.
  double load_seconds = 0;    // Reading and packing chunks.
  double build_seconds = 0;   // Ordering the rows of windows.
  double decode_seconds = 0;  // Decoding rows, without sending.
  double send_seconds = 0;    // Running the events of sessions, except OnRows().
  double capacity_seconds = 0;
  // Seconds that the read_threads waited for storage. They are not part of capacity_seconds. Their
  // work on chunks after reading is in load_seconds.
  double read_seconds = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_ENGINE_OPTIONS_H_
