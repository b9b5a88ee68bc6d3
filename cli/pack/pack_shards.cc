// penstock pack --from tfrecord.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/pack/pack_gathered.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/shard_records.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

absl::StatusOr<std::unique_ptr<InputRecords>> OpenShard(
    std::vector<std::unique_ptr<ByteSource>> sources) {
  return std::make_unique<ShardRecords>(std::move(sources[0]));
}

}  // namespace

absl::Status PackShards(PackOptions options) {
  ListOptions listing;
  listing.glob = options.glob;
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                            ListShards(options.inputs, listing));
  return PackGathered(EachAlone(files), OpenShard, "tfrecord", std::move(options));
}

}  // namespace penstock
