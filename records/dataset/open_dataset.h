// Opens a dataset by the path of its manifest or of its folder.
#ifndef PENSTOCK_RECORDS_DATASET_OPEN_DATASET_H_
#define PENSTOCK_RECORDS_DATASET_OPEN_DATASET_H_

#include <string>

#include "absl/status/statusor.h"
#include "records/dataset/indexer.h"
#include "records/dataset/list_shards.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct OpenedDataset {
  Manifest manifest;
  std::string manifest_path;
  bool indexed = false;  // True if this call created the manifest and saved it.
};

// If `path` is a file, loads it as a manifest. If it is a folder, loads the folder's manifest.pb,
// or creates it if there is none. If another run is creating it, waits for that run. `options`
// gives the callbacks; `output` and `keep` are set here.
// kFailedPrecondition: the folder's manifest leaves out a shard beneath the folder, or lists a
// shard that is missing or has another size.
// kInvalidArgument: the file is not a manifest; the message says what to give instead of a shard.
// Other errors are those of Manifest::Load() and BuildIndex().
absl::StatusOr<OpenedDataset> OpenDataset(const std::string& path, IndexOptions options = {});

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_OPEN_DATASET_H_
