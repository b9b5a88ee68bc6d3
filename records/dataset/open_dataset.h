// A dataset by the path of its manifest or of its folder.
#ifndef PENSTOCK_RECORDS_DATASET_OPEN_DATASET_H_
#define PENSTOCK_RECORDS_DATASET_OPEN_DATASET_H_

#include <string>

#include "absl/status/statusor.h"
#include "records/dataset/indexer.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct OpenedDataset {
  Manifest manifest;
  std::string manifest_path;
  bool indexed = false;  // The manifest was made just now, and saved.
};

// The name of the manifest that a folder holds.
constexpr char kManifestName[] = "manifest.pb";

// A file is loaded as a manifest. Of a folder, its manifest.pb is used, and made if there is none;
// where another run is making it, that one is waited for. `options` gives the callbacks, output and
// keep are set here. kFailedPrecondition: the folder's manifest
// leaves out a shard beneath it, or one has another size than listed or is gone. Further errors as
// Manifest::Load() and BuildIndex().
absl::StatusOr<OpenedDataset> OpenDataset(const std::string& path, IndexOptions options = {});

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_OPEN_DATASET_H_
