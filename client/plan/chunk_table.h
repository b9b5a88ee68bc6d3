// The facts that the plan needs about a manifest: two numbers for each chunk.
#ifndef PENSTOCK_CLIENT_PLAN_CHUNK_TABLE_H_
#define PENSTOCK_CLIENT_PLAN_CHUNK_TABLE_H_

#include <cstdint>
#include <vector>

#include "records/dataset/manifest.h"
#include "records/dataset/split.h"

namespace penstock {

// One entry for each chunk, in the manifest's order.
struct ChunkTable {
  std::vector<uint32_t> rows;   // Number of records of the split; may be 0.
  std::vector<uint32_t> bytes;  // Size in memory, after decompression.
  uint64_t content_fingerprint = 0;
};

ChunkTable MakeChunkTable(const Manifest& manifest, Split split);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_PLAN_CHUNK_TABLE_H_
