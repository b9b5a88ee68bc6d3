// Finds the files to index, and their classes.
#ifndef PENSTOCK_RECORDS_DATASET_DATASET_FILES_H_
#define PENSTOCK_RECORDS_DATASET_DATASET_FILES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/dataset/indexer.h"

namespace penstock {

struct DatasetFiles {
  std::vector<std::string> paths;
  std::vector<uint32_t> labels;  // For image files, the class of each path; otherwise empty.
  std::vector<std::string> class_names;
};

// If options.stored is kImageFile, returns the images of a folder with the classes of
// ListImageFolder(). Otherwise returns ListShards(), with ClassNamesBeside() them. Errors are those
// of these functions. Also returns kInvalidArgument if an image folder is not the only path, or has
// more than kMostImageFiles images.
absl::StatusOr<DatasetFiles> ListDatasetFiles(std::span<const std::string> paths,
                                              const IndexOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_DATASET_FILES_H_
