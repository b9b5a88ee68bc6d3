// Which files a dataset consists of.
#ifndef PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
#define PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

// Each path that is a folder becomes the files *.tfrecord* beneath it, sorted by path, without
// hidden ones; each that is a file stays.
// kNotFound: a path that is not there, a folder without shards. kInvalidArgument: the same file
// twice, or no paths.
absl::StatusOr<std::vector<std::string>> ListShards(std::span<const std::string> paths);

// `file` as a path relative to `folder`, both relative to the working folder or absolute.
// kInvalidArgument: it does not lie beneath.
absl::StatusOr<std::string> PathBeneath(const std::string& folder, const std::string& file);

// Absolute, without "." and "..", without a slash at the end. Empty where it is relative to a
// working folder that is gone: then it cannot be opened either.
std::string NormalPath(const std::string& path);

// The folder part of a file's path, "." if it has none.
std::string FolderOfFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_LIST_SHARDS_H_
