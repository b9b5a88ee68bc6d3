// One unit of work for a thread of the engine.
#ifndef PENSTOCK_RECORDS_ENGINE_JOB_H_
#define PENSTOCK_RECORDS_ENGINE_JOB_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "records/engine/request_rows.h"
#include "records/engine/session_state.h"

namespace penstock {

// Its pointers stay valid until the scheduler is told that the job is finished.
struct Job {
  enum class Kind {
    kLoad,           // Read `chunk`.
    kBuild,          // Order the rows of `window`. All its chunks are resident.
    kRefuseWindow,   // Tell the client that `window` failed.
    kRefuseRequest,  // Tell the client that `request` failed.
    kDecode,         // Answer rows [begin, begin + rows) of `request`.
  };
  static constexpr uint64_t kSmallCost = 1024;

  Kind kind = Kind::kLoad;
  SessionState* session = nullptr;
  ChunkEntry* chunk = nullptr;
  WindowState* window = nullptr;
  RequestState* request = nullptr;
  uint64_t begin = 0;
  uint32_t rows = 0;
  // The estimated cost in bytes (RowsCost::bytes): above 0, so that no job is free. least_cost has
  // the bytes that are read or sent.
  uint64_t cost = kSmallCost;
  uint64_t least_cost = kSmallCost;
  double time_of_estimate = 1;  // The session's when the cost was estimated.
  // Processor time that it took. It is 0 until it is done, and for rows whose bytes tell the cost.
  uint64_t nanoseconds = 0;
  RowBlock block = {};  // Shared with other sessions; has no rows if only `rows` are decoded.
  bool leads = true;    // True if it has reserved its memory. A follower uses its leader's.

  // Bytes of the part that answers the job.
  size_t bytes() const { return rows * request->decoding->row_bytes; }
  // Bytes that are decoded for the job.
  size_t decoded_bytes() const { return std::max(block.rows, rows) * request->decoding->row_bytes; }
};

// The cost of answering jobs.
struct Decoded {
  DecodeCounters counters;
  uint32_t block_rows = 0;  // Rows decoded into a shared block.
};

// The work of one thread: one job, or several kDecode jobs that are answered from one block. When
// the thread asks for more, `jobs` are the kDecode jobs that it has answered: its own, and those
// that other threads left to it.
struct Work {
  std::vector<Job> jobs;
  Decoded decoded = {};
  // The scheduler's notes about what it gave out last.
  bool running = false;
  bool is_long = false;  // It takes more than about 10 ms, by the estimate.
  bool decodes = false;  // It does not read.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_H_
