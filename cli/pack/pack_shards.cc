// penstock pack --from tfrecord.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/pack/pack_gathered.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/shard_records.h"
#include "cli/pack/shard_set.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

// "train" of train/ and of train-00000-of-00004.tfrecord.gz.
std::string ShardsName(const std::string& input) {
  const std::string file = std::filesystem::path(NormalPath(input)).filename().string();
  return SetName(file.substr(0, file.find(".tfrecord")));
}

absl::StatusOr<std::unique_ptr<InputRecords>> OpenShard(std::unique_ptr<FileSource> source) {
  return std::make_unique<ShardRecords>(std::move(source));
}

}  // namespace

absl::Status PackShards(PackOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckApart(options.inputs, options));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListShards(options.inputs));
  const std::string name = ShardsName(options.inputs[0]);
  return PackGathered(files, OpenShard, "tfrecord", name, std::move(options));
}

}  // namespace penstock
