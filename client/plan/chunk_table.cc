#include "client/plan/chunk_table.h"

namespace penstock {

ChunkTable MakeChunkTable(const Manifest& manifest, Split split) {
  ChunkTable table;
  table.content_fingerprint = manifest.content_fingerprint();
  table.rows.reserve(manifest.num_chunks());
  table.bytes.reserve(manifest.num_chunks());
  for (size_t i = 0; i < manifest.num_chunks(); ++i) {
    table.rows.push_back(manifest.chunk_rows(i, split));
    table.bytes.push_back(manifest.chunk(i).raw_size);
  }
  return table;
}

}  // namespace penstock
