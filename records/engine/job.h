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
  Kind kind = Kind::kLoad;
  SessionState* session = nullptr;
  ChunkEntry* chunk = nullptr;
  WindowState* window = nullptr;
  RequestState* request = nullptr;
  uint64_t begin = 0;
  uint32_t rows = 0;
  uint64_t cost = 0;    // The cost in bytes (RowsCost::bytes).
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
  Decoded decoded;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_H_
