// One thing for a thread of the engine to do.
#ifndef PENSTOCK_RECORDS_ENGINE_JOB_H_
#define PENSTOCK_RECORDS_ENGINE_JOB_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "records/engine/request_rows.h"
#include "records/engine/session_state.h"

namespace penstock {

// What it points to stays until the scheduler is told that it is finished.
struct Job {
  enum class Kind {
    kLoad,           // Read `chunk`.
    kBuild,          // Make the rows of `window`, all of whose chunks are resident.
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
  uint64_t cost = 0;    // As RowsCost has it.
  RowBlock block = {};  // Of the window, shared with other sessions; without rows: `rows` alone.
  bool leads = true;    // Its memory is reserved; that of a follower is its leader's.

  // Of the part.
  size_t bytes() const { return rows * request->decoding->row_bytes; }
  // Of what is decoded.
  size_t decoded_bytes() const { return std::max(block.rows, rows) * request->decoding->row_bytes; }
};

// What answering jobs took.
struct Decoded {
  DecodeCounters counters;
  uint32_t block_rows = 0;  // Decoded into a block that sessions share.
};

// What a thread is given to do: one job, or several of kDecode that are answered from one block.
// What it has answered when it asks for more is `jobs` of kDecode, its own and those that other
// threads left to it.
struct Work {
  std::vector<Job> jobs;
  Decoded decoded;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_JOB_H_
