// The options of `penstock pack`.
#ifndef PENSTOCK_CLI_PACK_PACK_OPTIONS_H_
#define PENSTOCK_CLI_PACK_PACK_OPTIONS_H_

#include <string>
#include <vector>

#include "cli/pack/image_shrinker.h"
#include "cli/pack/shard_set.h"

namespace penstock {

struct PackOptions {
  std::string from;  // If it is empty, the inputs decide.
  std::vector<std::string> inputs;
  std::string compression = "none";
  // Names of features. Records that lack one are left out.
  std::vector<std::string> filter_missing;
  std::string columns;  // Used with --from csv, jsonl, npy and npz; see Columns::Parse().
  std::string glob;     // Used with --from tfrecord; see ListOptions.
  ShardOptions shards;
  ShrinkOptions shrink;  // Used with --from folder.
  std::string json;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_OPTIONS_H_
