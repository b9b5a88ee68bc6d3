// The options of `penstock pack`.
#ifndef PENSTOCK_CLI_PACK_PACK_OPTIONS_H_
#define PENSTOCK_CLI_PACK_PACK_OPTIONS_H_

#include <string>
#include <vector>

#include "cli/pack/image_shrinker.h"
#include "cli/pack/shard_set.h"

namespace penstock {

struct PackOptions {
  std::string from;  // Empty: guess from the inputs.
  std::vector<std::string> inputs;
  std::string compression = "none";
  std::vector<std::string> filter_missing;  // Features; records that lack one are left out.
  std::string columns;  // For --from csv, jsonl, npy and npz: see Columns::Parse().
  std::string glob;     // For --from tfrecord: see ListOptions.
  ShardOptions shards;
  ShrinkOptions shrink;  // For --from folder.
  std::string json;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_OPTIONS_H_
