#include "client/loader/window_message.h"

#include <algorithm>

namespace penstock {
namespace {

// The index in `message.shards` of a shard of the manifest; `known` holds their numbers there.
uint32_t ShardIndex(const Manifest& manifest, uint32_t shard, std::vector<uint32_t>& known,
                    OpenWindow& message) {
  const auto at = std::find(known.begin(), known.end(), shard);
  if (at != known.end()) return static_cast<uint32_t>(at - known.begin());
  const ShardInfo& info = manifest.shards()[shard];
  known.push_back(shard);
  message.shards.push_back({info.path, info.compression, info.size});
  return static_cast<uint32_t>(known.size() - 1);
}

}  // namespace

OpenWindow MakeOpenWindow(const Manifest& manifest, const Plan& plan,
                          const WindowRequest& request) {
  OpenWindow message;
  message.window = request.number;
  message.split = plan.options().split;
  message.shuffle = plan.shuffle();
  message.key = request.order->WindowKey(request.id);
  message.rows = request.order->WindowRows(request.id);
  message.needed_at = request.needed_at;
  std::vector<uint32_t> known;
  for (uint32_t number : request.order->WindowChunks(request.id)) {
    const ChunkInfo chunk = manifest.chunk(number);
    ChunkRef ref;
    ref.shard = ShardIndex(manifest, chunk.shard, known, message);
    ref.offset = chunk.offset;
    ref.size = chunk.size;
    ref.raw_size = chunk.raw_size;
    ref.records = chunk.records;
    ref.holdout = chunk.holdout;
    ref.crc32c = chunk.crc32c;
    ref.ordinal = chunk.ordinal;
    message.chunks.push_back(ref);
  }
  return message;
}

}  // namespace penstock
